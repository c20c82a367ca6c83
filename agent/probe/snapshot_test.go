package probe

import (
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

var identity = &rollcallv1.Identity{Pod: "search-0", PodUid: "uid-0", Zone: "z1", Incarnation: 7}

func observation() engines.Observation {
	return engines.Observation{
		Node: "n0", Version: "9.9.0", Member: engines.MembershipLive, Roles: []string{"overseer"}, Last: true, Settled: true,
		Health: engines.Health{Verdict: engines.VerdictRecoverable, Reason: "n2 is unavailable"}, DataBytes: 99,
		Nodes: []engines.Node{{Name: "n2", Address: "n2:1", State: engines.MembershipNotLive}},
		Groups: []engines.Group{
			{ID: "a", Kind: engines.GroupShard, NeedsLeader: true, Members: []engines.Member{
				{ID: "1", Node: "n0", State: engines.MemberActive, Leader: true, Eligible: true},
				{ID: "2", Node: "n2", State: engines.MemberDown},
			}},
			{ID: "b", Kind: engines.GroupQuorum, MinAvailable: 2, Members: []engines.Member{{ID: "3", Node: "n1", State: engines.MemberRecovering, Progress: 0.5}}},
		},
	}
}

func testBoard() *Board { return NewBoard(identity, slog.New(slog.DiscardHandler)) }

func TestReportSaysWhatWasSeen(t *testing.T) {
	start := time.Now()
	b := testBoard()
	s := Result{}.Follow(start, observation(), nil)
	b.SetIdentity(identity, "Solr")
	b.SetResult(s)
	b.SetEpoch(4)
	b.SetRepair("follows soon")
	v, _ := b.Latest()
	r := v.Report(start.Add(3*time.Second), false)
	require.Equal(t, 3*time.Second, r.Age.AsDuration())
	require.Equal(t, 3*time.Second, r.SettledFor.AsDuration())
	require.Nil(t, r.NotLive)
	require.Equal(t, "Solr", r.Engine)
	require.Equal(t, rollcallv1.Verdict_VERDICT_RECOVERABLE, r.Verdict)
	require.Len(t, r.Groups, 1, "only groups with a copy on this pod")
	require.Equal(t, "a", r.Groups[0].Id)
	require.EqualValues(t, 99, r.DataBytes)
	require.EqualValues(t, 4, r.Epoch)
	require.Equal(t, "follows soon", r.Repairing)
	require.Empty(t, r.Busy, "it holds up nobody")
	require.True(t, r.Last)

	all := v.Report(start, true)
	require.True(t, all.AllGroups)
	require.Len(t, all.Groups, 2)
	require.Equal(t, rollcallv1.GroupKind_GROUP_KIND_QUORUM, all.Groups[1].Kind)
	require.Equal(t, rollcallv1.MemberState_MEMBER_STATE_RECOVERING, all.Groups[1].Members[0].State)

	h := v.Headline()
	require.Equal(t, v.Digest, h.Digest)
	require.Equal(t, "n0", h.Node)
	require.Equal(t, rollcallv1.Phase_PHASE_WATCHING, h.Phase)
}

// TestUnknownStaysUnknown checks that nothing that could not be learned looks like a fact.
func TestUnknownStaysUnknown(t *testing.T) {
	b := testBoard()
	v, _ := b.Latest()
	r := v.Report(time.Now(), true)
	require.NotEmpty(t, r.Error)
	require.Nil(t, r.ObservedAt)
	require.Equal(t, rollcallv1.Phase_PHASE_STARTING, v.Headline().Phase)

	s := Result{}.Follow(time.Now(), observation(), nil)
	b.SetResult(s)
	b.SetResult(s.Follow(time.Now(), engines.Observation{}, errors.New("connection refused")))
	v, _ = b.Latest()
	r = v.Report(time.Now(), true)
	require.Equal(t, "connection refused", r.Error)
	require.Equal(t, rollcallv1.Membership_MEMBERSHIP_UNSPECIFIED, r.Member)
	require.Equal(t, rollcallv1.Verdict_VERDICT_UNSPECIFIED, r.Verdict)
	require.Empty(t, r.Groups)
	require.False(t, r.Settled)
	require.Nil(t, r.SettledFor)
	require.Equal(t, "n0", r.Node, "its name does not change by being silent")

	o := observation()
	o.Member, o.Groups[0].Members[0].State, o.Health.Verdict = 99, 99, 99
	b.SetResult(s.Follow(time.Now(), o, nil))
	v, _ = b.Latest()
	r = v.Report(time.Now(), false)
	require.Equal(t, rollcallv1.Membership_MEMBERSHIP_UNSPECIFIED, r.Member)
	require.Equal(t, rollcallv1.Verdict_VERDICT_UNSPECIFIED, r.Verdict)
	require.Equal(t, rollcallv1.MemberState_MEMBER_STATE_UNSPECIFIED, r.Groups[0].Members[0].State)
	require.False(t, r.Settled)
}

func TestDigestIgnoresOnlyTime(t *testing.T) {
	digest := func(change func(*engines.Observation)) uint64 {
		o := observation()
		change(&o)
		b := testBoard()
		b.SetResult(Result{}.Follow(time.Now(), o, nil))
		v, _ := b.Latest()
		return v.Digest
	}
	base := digest(func(*engines.Observation) {})
	require.Equal(t, base, digest(func(o *engines.Observation) { o.DataBytes++ }))
	require.Equal(t, base, digest(func(o *engines.Observation) { o.Groups[1].ID = "another pod's" }))
	for name, change := range map[string]func(*engines.Observation){
		"member state": func(o *engines.Observation) { o.Groups[0].Members[1].State = engines.MemberActive },
		"leader":       func(o *engines.Observation) { o.Groups[0].Members[0].Leader = false },
		"verdict":      func(o *engines.Observation) { o.Health.Verdict = engines.VerdictRed },
		"role":         func(o *engines.Observation) { o.Roles = nil },
		"node":         func(o *engines.Observation) { o.Nodes[0].State = engines.MembershipLive },
		"settled":      func(o *engines.Observation) { o.Settled = false },
	} {
		require.NotEqual(t, base, digest(change), name)
	}
}

// TestSameFacts checks that every field counts, also one that is added later.
func TestSameFacts(t *testing.T) {
	require.True(t, sameFacts(observation(), observation()))
	for _, c := range []struct {
		value func(*engines.Observation) reflect.Value
		not   string
	}{
		{func(o *engines.Observation) reflect.Value { return reflect.ValueOf(o).Elem() }, "DataBytes"},
		{func(o *engines.Observation) reflect.Value { return reflect.ValueOf(&o.Groups[0]).Elem() }, ""},
		{func(o *engines.Observation) reflect.Value { return reflect.ValueOf(&o.Groups[0].Members[1]).Elem() }, ""},
		{func(o *engines.Observation) reflect.Value { return reflect.ValueOf(&o.Nodes[0]).Elem() }, ""},
	} {
		o := observation()
		kind := c.value(&o).Type()
		for i := range kind.NumField() {
			o := observation()
			change(c.value(&o).Field(i))
			require.Equal(t, kind.Field(i).Name == c.not, sameFacts(observation(), o), kind.Field(i).Name)
		}
	}
}

func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Struct:
		change(v.Field(0))
	default:
		panic(v.Kind())
	}
}

func TestBoardWakesOnlyForNews(t *testing.T) {
	b := testBoard()
	s := Result{}.Follow(time.Now(), observation(), nil)
	b.SetResult(s)
	_, changed := b.Latest()
	for range 5 {
		s = s.Follow(time.Now(), observation(), nil)
		b.SetResult(s)
	}
	require.False(t, woken(changed))
	v, _ := b.Latest()
	require.EqualValues(t, 6, v.Result.Sequence, "but the newest is there")
	b.SetDrain(DrainStatus{State: rollcallv1.Drain_DRAIN_DRAINING, Claim: "c"})
	require.True(t, woken(changed))
	_, changed = b.Latest()
	b.SetPhase(rollcallv1.Phase_PHASE_STOPPING)
	require.True(t, woken(changed))
}

// A database may answer anything; text that no message can carry is not a fact.
func TestTextThatCannotBeTold(t *testing.T) {
	b := testBoard()
	o := observation()
	o.Health.Reason = "\xff\xfe"
	b.SetResult(Result{}.Follow(time.Now(), o, nil))
	v, _ := b.Latest()
	r := v.Report(time.Now(), true)
	require.Contains(t, r.Error, "cannot be encoded")
	require.Equal(t, rollcallv1.Membership_MEMBERSHIP_UNSPECIFIED, r.Member)
	_, err := proto.Marshal(r)
	require.NoError(t, err)
}

// protoEnum casts; both sides must count alike.
func TestEnumsCountAlike(t *testing.T) {
	for i := range 8 {
		require.Equal(t, protoName(engines.Membership(i).String(), "MEMBERSHIP"), rollcallv1.Membership(protoEnum(engines.Membership(i), engines.MembershipNotLive)).String())
		require.Equal(t, protoName(engines.GroupKind(i).String(), "GROUP_KIND"), rollcallv1.GroupKind(protoEnum(engines.GroupKind(i), engines.GroupRole)).String())
		require.Equal(t, protoName(engines.MemberState(i).String(), "MEMBER_STATE"), rollcallv1.MemberState(protoEnum(engines.MemberState(i), engines.MemberDown)).String())
		require.Equal(t, protoName(engines.Verdict(i).String(), "VERDICT"), rollcallv1.Verdict(protoEnum(engines.Verdict(i), engines.VerdictRed)).String())
		require.Equal(t, protoName(engines.Topology(i).String(), "TOPOLOGY"), protoTopology(engines.Topology(i)).String())
	}
}

func protoName(name, prefix string) string {
	if name == "Unknown" {
		return prefix + "_UNSPECIFIED"
	}
	out := []byte(prefix)
	for _, c := range []byte(name) {
		if c >= 'A' && c <= 'Z' {
			out = append(out, '_')
		} else {
			c -= 'a' - 'A'
		}
		out = append(out, c)
	}
	return string(out)
}

func woken(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	default:
		return false
	}
}
