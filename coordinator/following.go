package coordinator

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// followingOf says which agents of a cluster to hold streams to. If some pod is blind the others
// are asked for what is on it, too.
func followingOf(objects kube.ClusterObjects, reports, blind bool) agents.Following {
	following := agents.Following{ClusterUID: string(objects.Cluster.UID), Reports: reports, AllGroups: blind}
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

// anyBlind reports whether some pod's database does not run well, so that its agent cannot say what
// is on it. A pod that comes back from a claimed restart does not count.
func anyBlind(objects kube.ClusterObjects) bool {
	return slices.ContainsFunc(objects.Pods, func(p kube.Pod) bool {
		return (p.Phase == kube.Started || p.Phase == kube.Failed) &&
			!slices.ContainsFunc(objects.Cluster.Status.Claims, func(c model.Claim) bool { return c.Pod == p.Name && c.UID != string(p.UID) })
	})
}

// unseen returns the groups of which not all copies are known to be there. What a pod that does not
// answer has of them may be all there is.
func unseen(groups []model.Group) []model.Group {
	var out []model.Group
	for _, g := range groups {
		if slices.ContainsFunc(g.Members, func(m model.Member) bool { return m.State == model.MemberDown || m.State == model.MemberUnknown }) {
			out = append(out, g)
		}
	}
	return out
}
