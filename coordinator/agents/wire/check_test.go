package wire

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// largest is the report of a database of so many shards, all told by one agent.
func largest(shards, copies, name int) *rollcallv1.Report {
	named := func(what string, i int) string {
		s := fmt.Sprintf("%s-%d", what, i)
		return s + strings.Repeat("x", max(0, name-len(s)))
	}
	r := &rollcallv1.Report{
		Identity: &rollcallv1.Identity{Namespace: "prod", Cluster: "search", Pod: "search-0", PodUid: "u0", Incarnation: 1},
		Sequence: 1, Age: durationpb.New(1), Roles: []string{"data"}, AllGroups: true,
	}
	for i := range 1000 {
		r.Nodes = append(r.Nodes, &rollcallv1.MemberNode{Name: named("node", i), Address: "10.0.0.1:9300", Member: 1})
	}
	for i := range shards {
		g := &rollcallv1.Group{Id: named("shard", i), Kind: 1, MinAvailable: 1}
		for k := range copies {
			g.Members = append(g.Members, &rollcallv1.Member{Id: named("copy", k), Node: named("node", k), State: 1, Eligible: true, Progress: 1})
		}
		r.Groups = append(r.Groups, g)
	}
	return r
}

func fullRoster() *rollcallv1.Roster {
	r := &rollcallv1.Roster{Identity: largest(0, 0, 0).GetIdentity(), Sequence: 1, Synced: true}
	for i := range maxEntries {
		h := &rollcallv1.Headline{Pod: fmt.Sprint("search-", i), PodUid: fmt.Sprint("u", i), Incarnation: 1 << 62, Sequence: 9, Alive: 2048, Digest: 1 << 63}
		h.Node = strings.Repeat("n", maxHeadline-proto.Size(h)-3)
		r.Entries = append(r.Entries, &rollcallv1.RosterEntry{Headline: h, Liveness: 1, Since: durationpb.New(1<<60 + 1)})
	}
	return r
}

// What honest agents of the largest databases send is taken.
func TestTheLargestMessagesAreTaken(t *testing.T) {
	for name, m := range map[string]proto.Message{
		"10,000 shards of three copies, long names": largest(10_000, 3, 64),
		"10,000 shards of two copies, short names":  largest(10_000, 2, 0),
		"30,000 shards of two copies":               largest(30_000, 2, 24),
		"one shard of the shortest names":           &rollcallv1.Report{Groups: []*rollcallv1.Group{{Id: "s", Members: []*rollcallv1.Member{{Id: "r", Node: "n"}}}}},
		"a full roster":                             fullRoster(),
		"a report of nothing":                       &rollcallv1.Report{},
		"an undo note":                              &rollcallv1.PlanDrainResponse{Undo: bytes.Repeat([]byte{1}, 4<<10), Setting: strings.Repeat("x", 4<<10)},
	} {
		data, err := proto.Marshal(m)
		require.NoError(t, err)
		got := m.ProtoReflect().New().Interface()
		refusal := Decode(data, got)
		require.Nil(t, refusal, "%s: %d bytes: %v", name, len(data), refusal)
		require.True(t, proto.Equal(m, got), name)
		t.Logf("%s: %d bytes", name, len(data))
	}
}

// hollow is a message of n empty fields with a number.
func hollow(number protowire.Number, n int) []byte {
	return bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), nil), n)
}

// nested is a field that holds what is given.
func nested(number protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), data)
}

// Two bytes each that would be a hundred in memory.
func TestHollowMessagesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		into   proto.Message
		data   []byte
		reason Reason
	}{
		"entries of a roster":        {&rollcallv1.Roster{}, hollow(2, MaxRoster/2), Count},
		"a few entries":              {&rollcallv1.Roster{}, hollow(2, maxEntries), Hollow},
		"too many bytes":             {&rollcallv1.Roster{}, hollow(2, MaxRoster), Size},
		"roles of a headline":        {&rollcallv1.Roster{}, bytes.Repeat(nested(2, nested(1, hollow(9, 200))), 500), Hollow},
		"a long headline":            {&rollcallv1.Roster{}, nested(2, nested(1, nested(1, make([]byte, maxHeadline)))), Count},
		"groups":                     {&rollcallv1.Report{}, hollow(24, MaxReport/3), Count},
		"groups, as many as may be":  {&rollcallv1.Report{}, hollow(24, maxGroups), Hollow},
		"members of one group":       {&rollcallv1.Report{}, nested(24, hollow(6, maxMembers)), Hollow},
		"members of many":            {&rollcallv1.Report{}, bytes.Repeat(nested(24, hollow(6, 1000)), 500), Count},
		"nodes":                      {&rollcallv1.Report{}, hollow(26, maxNodes+1), Count},
		"roles":                      {&rollcallv1.Report{}, hollow(11, maxRoles+1), Count},
		"ages, of which one is kept": {&rollcallv1.Report{}, hollow(3, 1<<20), Hollow},
		"details of an answer":       {&rollcallv1.PlanDrainResponse{}, nested(3, make([]byte, MaxAnswer)), Size},
		"groups of the wire":         {&rollcallv1.Report{}, bytes.Repeat([]byte{99<<3&0x7f | 3}, 1000), Malformed},
		"cut off":                    {&rollcallv1.Report{}, []byte{0x0a, 0x10, 0x00}, Malformed},
		"no UTF-8":                   {&rollcallv1.Report{}, nested(6, []byte{0xff}), Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			var refusal *Refusal
			took := allocates(func() { refusal = Decode(c.data, c.into) })
			require.NotNil(t, refusal)
			require.Equal(t, c.reason, refusal.Reason, refusal.Text)
			require.Contains(t, Reasons, refusal.Reason)
			require.Less(t, took, uint64(32<<10), "%d bytes of memory for %d", took, len(c.data))
		})
	}
}

// A field that a later version adds is dropped, not refused.
func TestUnknownFieldsAreDropped(t *testing.T) {
	data, err := proto.Marshal(&rollcallv1.Report{Node: "n"})
	require.NoError(t, err)
	data = append(data, nested(999, make([]byte, 1<<20))...)
	got := &rollcallv1.Report{}
	require.Nil(t, Decode(data, got))
	require.Empty(t, got.ProtoReflect().GetUnknown())
	require.Equal(t, "n", got.GetNode())
}

// allocates is how many bytes f allocates, garbage included.
func allocates(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What passes takes at most inflation times its bytes, and slack, all garbage included.
func FuzzDecode(f *testing.F) {
	for _, m := range []proto.Message{largest(50, 2, 8), largest(3, 1, 0), &rollcallv1.PlanDrainResponse{Undo: []byte("x")}} {
		data, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(data)
	}
	for _, number := range []protowire.Number{1, 2, 3, 9, 11, 24, 26} {
		f.Add(hollow(number, 500))
		f.Add(nested(24, hollow(number, 4000)))
		f.Add(bytes.Repeat(nested(2, nested(1, hollow(number, 100))), 20))
	}
	for _, m := range kinds() { // shapes are made
		Check(nil, m)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := slices.Concat([]byte{}, data)
		if len(data) > 0 { // of messages that are one behind the other one is made, with all of their fields
			whole = bytes.Repeat(data, max(1, (64<<10)/len(data)))
		}
		for _, m := range kinds() {
			cost, refusal := weigh(whole, m)
			if refusal != nil || Check(whole, m) != nil {
				continue
			}
			took := allocates(func() { Decode(whole, m) })
			// What the test's own goroutines allocate meanwhile is counted, too.
			require.LessOrEqual(t, took, uint64(cost+64<<10), "%T of %d bytes", m, len(whole))
			require.LessOrEqual(t, took, uint64(inflation*len(whole)+slack+64<<10), "%T of %d bytes", m, len(whole))
		}
	})
}

func kinds() []proto.Message {
	return []proto.Message{&rollcallv1.Roster{}, &rollcallv1.Report{}, &rollcallv1.PlanDrainResponse{}, &rollcallv1.DrainResponse{},
		&rollcallv1.RestoreResponse{}, &rollcallv1.RestoreSettingResponse{}, &rollcallv1.HandoffOnBehalfResponse{}}
}
