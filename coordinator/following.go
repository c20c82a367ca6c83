package coordinator

import (
	"cmp"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// followingOf says which agents of a cluster to hold streams to.
func followingOf(objects kube.ClusterObjects, reports bool) agents.Following {
	following := agents.Following{ClusterUID: string(objects.Cluster.UID), Reports: reports}
	following.Agents = make([]agents.Target, 0, len(objects.Pods))
	zoneKey := cmp.Or(objects.Cluster.Spec.Policy.ZoneKey, "topology.kubernetes.io/zone")
	for i := range objects.Pods {
		pod := &objects.Pods[i]
		if !pod.Agent {
			following.AllGroups = true
			continue
		}
		following.Agents = append(following.Agents, agents.Target{
			Pod: pod.Name, UID: string(pod.UID), IP: pod.IP, Zone: objects.Nodes[pod.Node].Labels[zoneKey],
		})
	}
	return following
}
