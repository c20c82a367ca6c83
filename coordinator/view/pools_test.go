package view

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// inPools makes each pod of the healthy database the only one of a StatefulSet of
// its own, with its own template; the database's names for them stay.
func inPools(in *Input) {
	template := in.Kube.Pools[0]
	in.Kube.Pools = nil
	for i, set := range []struct{ name, revision, image string }{
		{"coord", "c2", "search:9.10.1"}, {"data", "d2", "search:9.9.0"}, {"mgr", "m2", "search:10.0.0"},
	} {
		pool := template
		pool.Name, pool.Revision, pool.Image, pool.Replicas = set.name, set.revision, set.image, 1
		in.Kube.Pools = append(in.Kube.Pools, pool)
		pod := &in.Kube.Pods[i]
		pod.Pool, pod.Name, pod.Ordinal, pod.Image = set.name, set.name+"-0", 0, "search:9.9.0"
	}
}

// Three StatefulSets are one database: their pods see one another's copies, and
// each is compared with its own template.
func TestJoinsThreePools(t *testing.T) {
	s := Join(made(inPools, func(in *Input) {
		in.MinSource = map[int]string{10: "9.9.0"}
		in.Kube.Cluster.Status.LastFinished = []v1alpha1.FinishedRollout{{Pool: "mgr", Revision: "m1"}, {Pool: "gone", Revision: "g1"}}
		in.Kube.Cluster.Status.PoolEstimateSeconds = map[string]int64{"data": 90}
		in.Kube.Cluster.Status.EstimateSeconds = 40
	}))
	require.Empty(t, model.Validate(&s))
	type is struct{ pool, revision, version, running, finished string }
	var pools []is
	for _, p := range s.Pools {
		pools = append(pools, is{p.Name, p.Revision, p.Version, p.RunningVersion, p.FinishedRevision})
	}
	require.Equal(t, []is{
		{"coord", "c2", "9.10.1", "9.9.0", ""}, {"data", "d2", "9.9.0", "9.9.0", ""}, {"mgr", "m2", "10.0.0", "9.9.0", "m1"},
	}, pools)
	require.Equal(t, "9.9.0", s.Cluster.Engine.MinSourceVersion, "the newest template's")

	var hosts []string
	for _, m := range s.Groups[0].Members {
		hosts = append(hosts, m.Pod)
		require.Equal(t, model.MemberActive, m.State)
	}
	slices.Sort(hosts)
	require.Equal(t, []string{"coord-0", "data-0", "mgr-0"}, hosts)
	for i, estimate := range []float64{40, 90, 40} {
		require.Equal(t, estimate, s.Pods[i].EstimateSeconds)
		require.Equal(t, model.MembershipLive, s.Pods[i].Report.Member)
	}
}

// A tag that is no version hides what its own pool is to run, and no other's.
func TestTagsAreTrustedByPool(t *testing.T) {
	versions := func(edits ...edit) (out []string) {
		for _, p := range Join(made(append([]edit{inPools}, edits...)...)).Pools {
			out = append(out, p.Version)
		}
		return out
	}
	image := func(pool int, now, next string) edit {
		return func(in *Input) { in.Kube.Pods[pool].Image, in.Kube.Pools[pool].Image = now, next }
	}
	require.Equal(t, []string{"9.10.1", "9.9.0", "10.0.0"}, versions())
	require.Equal(t, []string{"9.10.1", "", "10.0.0"}, versions(image(1, "search:latest", "search:latest")))
	require.Equal(t, []string{"9.10.1", "", "10.0.0"}, versions(image(1, "search:9.9.0", "search@sha256:0123")))
	require.Equal(t, []string{"9.10.1", "", "10.0.0"}, versions(image(1, "search:1.0.4", "search:1.0.5")), "the tag is not the engine's version")
	require.Equal(t, []string{"9.10.1", "9.10.0", "10.0.0"}, versions(image(1, "search:9.9.0", "search:9.10.0-rc1")), "what follows the numbers is not looked at")
}

// The pause of one StatefulSet pauses the database: its pods go in one order.
func TestPauseOfOnePoolPausesAll(t *testing.T) {
	require.False(t, Join(made(inPools)).Cluster.Paused)
	require.True(t, Join(made(inPools, func(in *Input) { in.Kube.Pools[2].Paused = true })).Cluster.Paused)
}
