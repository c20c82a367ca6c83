package gossip

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func testTag(t testing.TB, cluster string) tag {
	tag, err := tagOf("prod", cluster, "uid")
	require.NoError(t, err)
	return tag
}

func headline() *rollcallv1.Headline {
	return &rollcallv1.Headline{
		Pod: "search-0", PodUid: "3f1c9e0a-52a4-4f0e-9d59-6f3a4c1f9b11", Incarnation: 1 << 60, Sequence: 1 << 40,
		Phase: rollcallv1.Phase_PHASE_WATCHING, Member: rollcallv1.Membership_MEMBERSHIP_LIVE,
		Verdict: rollcallv1.Verdict_VERDICT_GREEN, Drain: rollcallv1.Drain_DRAIN_DRAINED,
		Roles: []string{"overseer", "data", "ingest"}, Alive: 200, Digest: 1 << 63,
		Address: "[fd00:1234:5678:9abc:def0:1234:5678:9abc]:7947", Node: "search-0.search.prod:8983_solr", Epoch: 1 << 50, Zone: "z1",
	}
}

func TestMetaRoundTrip(t *testing.T) {
	label := testTag(t, "search")
	h := headline()
	for _, leaves := range []bool{false, true} {
		meta, err := encode(label, leaves, h)
		require.NoError(t, err)
		got, err := decode(label, memberName(h.Pod, h.PodUid), meta)
		require.NoError(t, err)
		require.True(t, proto.Equal(h, got))
		require.Equal(t, leaves, leaving(meta))
	}
}

// TestMetaIsTrimmed checks that any headline fits, and that the most important fields are dropped
// last.
func TestMetaIsTrimmed(t *testing.T) {
	label := testTag(t, "x")
	long := strings.Repeat("x", 253)
	bare := headline()
	bare.Roles, bare.Node = nil, ""
	exactly := strings.Repeat("n", MaxMeta-envelopeSize-proto.Size(bare)-3) // tag and length
	for _, c := range []struct {
		change                           func(*rollcallv1.Headline)
		roles                            int
		zone, node, address, mustBeAbove bool
	}{
		{func(h *rollcallv1.Headline) {}, 3, true, true, true, false},
		{func(h *rollcallv1.Headline) { h.Node = exactly }, 0, true, true, true, true},
		{func(h *rollcallv1.Headline) {
			for i := range 500 {
				h.Roles = append(h.Roles, fmt.Sprint("role", i))
			}
		}, 44, true, true, true, true},
		{func(h *rollcallv1.Headline) { h.Node, h.Zone = exactly, "zone-3" }, 0, false, true, true, true},
		{func(h *rollcallv1.Headline) { h.Pod, h.Node, h.Zone = long, long, long }, 0, false, false, true, true},
		{func(h *rollcallv1.Headline) { h.Pod, h.Address = long, long }, 0, false, false, false, true},
	} {
		h := headline()
		c.change(h)
		before := proto.CloneOf(h)
		meta, err := encode(label, false, h)
		require.NoError(t, err)
		require.LessOrEqual(t, len(meta), MaxMeta)
		require.True(t, proto.Equal(before, h), "the caller's headline is left alone")
		got, err := decode(label, memberName(h.Pod, h.PodUid), meta)
		require.NoError(t, err)
		if c.roles == 44 {
			require.NotEmpty(t, got.Roles)
			require.Less(t, len(got.Roles), 503)
			require.Equal(t, "overseer", got.Roles[0])
		} else {
			require.Len(t, got.Roles, c.roles)
		}
		require.Equal(t, c.zone, got.Zone != "")
		require.Equal(t, c.node, got.Node != "")
		require.Equal(t, c.address, got.Address != "")
		require.Equal(t, h.Member, got.Member)
		require.Equal(t, h.Epoch, got.Epoch)
	}
	h := headline()
	h.Pod = strings.Repeat("p", 600)
	_, err := encode(label, false, h)
	require.ErrorContains(t, err, "512 are allowed")
}

func TestMetaOfStrangers(t *testing.T) {
	label := testTag(t, "ours")
	h := headline()
	name := memberName(h.Pod, h.PodUid)
	good, err := encode(label, false, h)
	require.NoError(t, err)
	foreign, err := encode(testTag(t, "theirs"), false, h)
	require.NoError(t, err)
	nobody, err := encode(label, false, &rollcallv1.Headline{Pod: "p"})
	require.NoError(t, err)
	newer := append([]byte{metaVersion + 1}, good[1:]...)
	for what, c := range map[string]struct {
		name string
		meta []byte
		want reason
	}{
		"nothing":       {name, nil, reasonMalformed},
		"short":         {name, good[:envelopeSize-1], reasonMalformed},
		"long":          {name, make([]byte, MaxMeta+1), reasonMalformed},
		"no headline":   {name, append(good[:envelopeSize:envelopeSize], 0xff, 0xff), reasonMalformed},
		"no pod":        {memberName("p", ""), nobody, reasonMalformed},
		"other cluster": {name, foreign, reasonCluster},
		"newer":         {name, newer, reasonVersion},
		"other name":    {memberName("search-1", h.PodUid), good, reasonIdentity},
		"other uid":     {memberName(h.Pod, "uid"), good, reasonIdentity},
	} {
		m := NewMetrics(prometheus.NewRegistry())
		d := &delegate{self: "self", tag: label, table: newTable(), metrics: m, allowed: everybody}
		require.Error(t, d.NotifyAlive(&memberlist.Node{Name: c.name, Meta: c.meta}), what)
		require.EqualValues(t, 1, testutil.ToFloat64(m.rejected.WithLabelValues(string(c.want))), what)
		d.NotifyJoin(&memberlist.Node{Name: c.name, Meta: c.meta})
		require.Empty(t, d.table.entries, what)
	}
}

func TestMergeOfTwoClustersIsRefused(t *testing.T) {
	label := testTag(t, "ours")
	h := headline()
	name := memberName(h.Pod, h.PodUid)
	good, _ := encode(label, false, h)
	foreign, _ := encode(testTag(t, "theirs"), false, h)
	d := &delegate{self: "self", tag: label, table: newTable(), metrics: NewMetrics(nil), allowed: everybody}
	alive := func(meta []byte) *memberlist.Node { return &memberlist.Node{Name: name, Meta: meta} }
	gone := alive(foreign)
	gone.State = memberlist.StateDead
	require.NoError(t, d.NotifyMerge([]*memberlist.Node{alive(good), gone, alive([]byte("garbage"))}))
	require.Error(t, d.NotifyMerge([]*memberlist.Node{alive(good), alive(foreign)}))
	require.EqualValues(t, 1, testutil.ToFloat64(d.metrics.rejected.WithLabelValues("merge")))
}

func TestRosterIsBounded(t *testing.T) {
	label := testTag(t, "ours")
	d := &delegate{self: "self", tag: label, table: newTable(), metrics: NewMetrics(nil), allowed: everybody}
	for i := range maxEntries + 5 {
		h := &rollcallv1.Headline{Pod: fmt.Sprint("p", i), PodUid: "u"}
		meta, err := encode(label, false, h)
		require.NoError(t, err)
		n := &memberlist.Node{Name: memberName(h.Pod, h.PodUid), Meta: meta}
		if d.NotifyAlive(n) == nil {
			d.NotifyJoin(n)
		}
	}
	require.Len(t, d.table.entries, maxEntries)
	require.EqualValues(t, 5, testutil.ToFloat64(d.metrics.rejected.WithLabelValues("full")))
}

func FuzzDecode(f *testing.F) {
	label := testTag(f, "ours")
	h := headline()
	good, _ := encode(label, false, h)
	f.Add(memberName(h.Pod, h.PodUid), good)
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, name string, meta []byte) {
		got, err := decode(label, name, meta)
		if err != nil {
			return
		}
		again, err := encode(label, leaving(meta), got)
		require.NoError(t, err)
		require.LessOrEqual(t, len(again), MaxMeta)
	})
}
