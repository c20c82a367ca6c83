package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func tells(t rollcallv1.Topology) func(*rollcallv1.Report) {
	return func(r *rollcallv1.Report) { r.Topology = t }
}

// TestTopology checks that a topology is known only if all witnesses that tell one agree, and
// Kubernetes does not know of pods that the agents have not heard of.
func TestTopology(t *testing.T) {
	const (
		switchable = rollcallv1.Topology_TOPOLOGY_SWITCHABLE
		fixed      = rollcallv1.Topology_TOPOLOGY_FIXED_PRIMARY
		single     = rollcallv1.Topology_TOPOLOGY_SINGLE_SERVER
	)
	all := []int{0, 1, 2}
	tell := func(in *Input) { in.Topologies = true }
	alone := func(in *Input) {
		in.Kube.Pools[0].Replicas = 1
		in.Kube.Pods = in.Kube.Pods[:1]
	}
	for name, c := range map[string]struct {
		edits []edit
		want  model.Topology
		why   string
	}{
		"the engine has none":                  {nil, "", ""},
		"all agree":                            {[]edit{tell, allSay(all, tells(switchable))}, model.TopologySwitchable, ""},
		"nobody tells":                         {[]edit{tell}, model.TopologyUnknown, "no live member tells it"},
		"an agent of an earlier version":       {[]edit{tell, allSay([]int{1, 2}, tells(switchable))}, model.TopologySwitchable, ""},
		"a word that is not known here":        {[]edit{tell, allSay(all, tells(99))}, model.TopologyUnknown, "no live member tells it"},
		"two say different things":             {[]edit{tell, allSay(all, tells(switchable)), says(1, tells(fixed))}, model.TopologyUnknown, "search-0 says Switchable, search-1 says FixedPrimary"},
		"one that is stale says nothing":       {[]edit{tell, allSay(all, tells(switchable)), says(1, tells(fixed)), observedAt(1, noon.Add(-2*DefaultMaxAge))}, model.TopologySwitchable, ""},
		"one that is not live says nothing":    {[]edit{tell, allSay(all, tells(switchable)), says(1, tells(fixed)), says(1, func(r *rollcallv1.Report) { r.Member = notLive })}, model.TopologySwitchable, ""},
		"a single server":                      {[]edit{tell, alone, says(0, tells(single))}, model.TopologySingleServer, ""},
		"one that has not heard of the rest":   {[]edit{tell, says(0, tells(single)), noReport(1), noReport(2)}, model.TopologyUnknown, "search-0 knows of no other member, and there are 3 pods"},
		"a fixed primary among its own pool":   {[]edit{tell, allSay(all, tells(fixed))}, model.TopologyUnknown, "search-0 is said to be the only pod of search, which wants 3"},
		"a person says that it stays":          {[]edit{tell, allSay(all, tells(fixed)), func(in *Input) { in.Kube.Cluster.Spec.Update.Primary = model.PrimaryRestartInPlace }}, model.TopologyFixedPrimary, ""},
		"a fixed primary in a pool of its own": {[]edit{tell, alone, says(0, tells(fixed))}, model.TopologyFixedPrimary, ""},
		"idle: the last known one":             {[]edit{tell, func(in *Input) { in.Idle, in.Kube.Cluster.Status.Topology = true, model.TopologyFixedPrimary }}, model.TopologyFixedPrimary, ""},
		"idle, and never known":                {[]edit{tell, func(in *Input) { in.Idle = true }}, model.TopologyUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := Join(made(c.edits...))
			require.Equal(t, c.want, s.Cluster.Topology)
			require.Equal(t, c.why, s.Cluster.TopologyWhy)
		})
	}
}
