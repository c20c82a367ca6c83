package agents

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// All of ten agents tell of all of 10,000 shards, and what they share is held once.
func TestTheLargestReportsAreHeard(t *testing.T) {
	h := start(t, nil)
	var targets []Target
	for i := range 10 {
		f := newFakeAgent(fmt.Sprint("search-", i), fmt.Sprint("u", i))
		f.say(func(r *rollcallv1.Report) { largeReport(r, 10_000, "g") })
		to := Target{Pod: f.report.GetIdentity().GetPod(), UID: f.report.GetIdentity().GetPodUid(), IP: fmt.Sprint("10.0.0.", i+1)}
		targets = append(targets, to)
		h.serve(to.IP, search, f)
	}
	h.Follow(search, following(targets...))
	eventually(t, func() bool { return len(h.State(search).Reports) == 10 })
	one, ten := h.State(search).Reports["u0"].Report, h.State(search).Reports["u9"].Report
	require.Len(t, ten.GetGroups(), 10_000)
	require.Same(t, one.GetGroups()[77], ten.GetGroups()[77])
	require.Less(t, h.heldNow(), 12<<20)
	h.Forget(search)
	require.Zero(t, h.heldNow())
}

// One database that says more than there is room for loses reports of its own, and the other none.
func TestHeldIsBoundedAndShared(t *testing.T) {
	h := start(t, func(o *Options) { o.MaxHeld = 4 << 20 })
	var targets []Target
	for i := range 10 {
		f := newFakeAgent(fmt.Sprint("search-", i), fmt.Sprint("u", i))
		f.say(func(r *rollcallv1.Report) { largeReport(r, 1000, fmt.Sprint("g", i)) })
		to := Target{Pod: f.report.GetIdentity().GetPod(), UID: f.report.GetIdentity().GetPodUid(), IP: fmt.Sprint("10.0.0.", i+1)}
		targets = append(targets, to)
		h.serve(to.IP, search, f)
	}
	h.Follow(search, following(targets...))
	eventually(t, func() bool { return testutil.ToFloat64(h.refused.WithLabelValues(string(reasonMemory))) > 0 })
	require.LessOrEqual(t, h.heldNow(), 4<<20)
	require.NotEmpty(t, h.State(search).Reports)

	good := goodAgent()
	good.say(func(r *rollcallv1.Report) { largeReport(r, 2000, "o") })
	h.serve(other.IP, orders, good)
	h.Follow(orders, following(other))
	eventually(t, func() bool { return len(h.State(orders).Reports["v0"].Report.GetGroups()) == 2000 })
	require.Empty(t, h.State(orders).Refused)
	require.LessOrEqual(t, h.heldNow(), 8<<20)

	idle := following(targets...)
	idle.Reports = false
	h.Follow(search, idle)
	h.Follow(orders, Following{ClusterUID: "d0"})
	require.Less(t, h.heldNow(), 64<<10, "what is not followed is not held")
	require.Empty(t, h.tables(search))
	h.Forget(search)
	require.Zero(t, h.heldNow())
}

func (h *harness) heldNow() int {
	h.Agents.mu.Lock()
	defer h.Agents.mu.Unlock()
	return h.held
}

func (h *harness) tables(key Key) map[string]*rollcallv1.Group {
	h.Agents.mu.Lock()
	defer h.Agents.mu.Unlock()
	return h.clusters[key].groups
}

// A group is held once only where nothing differs.
func TestSameGroupComparesEveryField(t *testing.T) {
	full := func() *rollcallv1.Group {
		return &rollcallv1.Group{Id: "g", Kind: 1, MinAvailable: 2, NeedsLeader: true, Moving: true, Members: []*rollcallv1.Member{
			{Id: "m", Node: "n", State: 1, Leader: true, Eligible: true, Progress: 0.5, Domain: "d"}}}
	}
	require.True(t, sameGroup(full(), full()))
	for i := range full().ProtoReflect().Descriptor().Fields().Len() {
		other := full()
		f := other.ProtoReflect().Descriptor().Fields().Get(i)
		require.True(t, other.ProtoReflect().Has(f), f.Name())
		other.ProtoReflect().Clear(f)
		require.Equal(t, f.Name() == "id", sameGroup(full(), other), "the tables are by id: %s", f.Name())
	}
	for i := range full().Members[0].ProtoReflect().Descriptor().Fields().Len() {
		other := full()
		m := other.Members[0].ProtoReflect()
		require.True(t, m.Has(m.Descriptor().Fields().Get(i)))
		m.Clear(m.Descriptor().Fields().Get(i))
		require.False(t, sameGroup(full(), other), m.Descriptor().Fields().Get(i).Name())
	}
}
