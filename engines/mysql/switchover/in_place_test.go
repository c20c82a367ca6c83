package switchover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// stays is seen, by people's word, with a primary that keeps its role.
func stays() Input {
	v := seen()
	v.Wrote, v.Asked, v.Primary, v.BrokenAfter = false, engines.RestartInPlace, engines.RestartInPlace, 2*time.Minute
	for i := range v.Others {
		v.Others[i].State.Source.ID = serverID(0)
		v.Others[i].State.Looked = noon
	}
	return v
}

func TestInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(v *Input)
		kind  Kind
		words string
	}{
		"all is well":         {func(*Input) {}, Done, "it restarts in place: its replicas have everything"},
		"a replica":           {func(v *Input) { v.Self, v.Others[0] = v.Others[0], v.Self }, Done, "db-1 is a replica"},
		"somebody stopped it": {func(v *Input) { v.Self.State.Writes = replication.RefusedBySQL }, Done, "db-0 refuses writes"},
		"undone":              {func(v *Input) { v.Undoing = true }, Done, ""},
		"another order":       {func(v *Input) { v.Primary = engines.Switchover }, Wait, "is to hand over its role, and as it looks now nobody else may have it"},
		"a backup":            {func(v *Input) { v.Self.State.Busy = "a backup holds its lock" }, Wait, "db-0 is busy: a backup"},
		"a long write":        {func(v *Input) { v.Self.State.Writing = 3 * time.Second }, Wait, "a write that has been open for 3s"},
		"replicas without agents": {func(v *Input) {
			v.Others, v.Self.State.Replicas = nil, []replication.Replica{{ID: serverID(1)}}
		}, Wait, "no other member is known, though 1 follow"},
		"a second writer": {func(v *Input) {
			v.Others[1].State.Source, v.Others[1].State.Writes = nil, replication.Allowed
		}, Wait, "db-0 and db-2 both allow writes"},
		"one lacks something":   {func(v *Input) { v.Others[1].State.Executed = serverID(0) + ":1-99" }, Wait, "once its replicas have everything: db-2 has not caught up"},
		"one that does not say": {func(v *Input) { v.Others[1].Known, v.Others[1].State.Serving = false, false }, Wait, "db-2 does not answer"},
		"one that is stopped":   {func(v *Input) { v.Others[1].State.Source.Applying = false }, Wait, "db-2 has stopped replicating"},
		"of what was wanted, which is not all": {func(v *Input) {
			before := v.Self.State
			before.Executed = serverID(0) + ":1-99"
			v.Others[1].State.Executed, v.Wanted = serverID(0)+":1-99", &before
		}, Done, ""},
		"one that has been broken for long": {func(v *Input) {
			v.Others[1].State.Source.Applying, v.Others[1].State.Halted = false, noon.Add(-time.Hour)
		}, Done, "without db-2"},
		"one that is down":    {func(v *Input) { v.Others[1].State.Serving, v.Others[1].State.Down = false, true }, Done, "without db-2"},
		"one that is delayed": {func(v *Input) { v.Others[1].State.Source.Delay, v.Others[1].State.Executed = time.Hour, "" }, Done, ""},
		"stopped anyway": {func(v *Input) {
			v.Waited, v.Others[1].State.Source.Applying = true, false
		}, Done, "was not waited for any longer: db-2 has stopped replicating"},
	} {
		t.Run(name, func(t *testing.T) {
			v := stays()
			c.edit(&v)
			a := Next(v)
			require.Equal(t, c.kind, a.Kind, a.Reason)
			require.Contains(t, a.Reason, c.words)
		})
	}
	v := seen()
	v.Primary = engines.RestartInPlace
	require.Contains(t, Next(v).Reason, "db-0 is to restart in place, and as it looks now a replica may take over")
}

// TestWhatWasBegunIsUndoneInPlace checks that a switchover that was under way when people said that
// the primary stays is taken back.
func TestWhatWasBegunIsUndoneInPlace(t *testing.T) {
	v := frozen()
	v.Asked = engines.RestartInPlace
	require.Equal(t, TakeBack, Next(v).Kind)
}

// TestKeep checks what members do by themselves: none follows another server than before, no
// replica opens, and the primary opens only if all others follow it and it has lost nothing.
func TestKeep(t *testing.T) {
	for name, c := range map[string]struct {
		self int
		edit func(v *Input)
		kind Kind
	}{
		"the primary takes writes":        {0, func(v *Input) { v.Self.State.Writes = replication.Allowed }, Done},
		"it started read-only":            {0, func(*Input) {}, Open},
		"somebody made it so":             {0, func(v *Input) { v.Self.State.Writes = replication.RefusedBySQL }, Done},
		"nobody else is known":            {0, func(v *Input) { v.Others = nil }, Done},
		"one does not answer":             {0, func(v *Input) { v.Others[1].Known, v.Others[1].State.Serving = false, false }, Wait},
		"one has more":                    {0, func(v *Input) { v.Others[1].State.Executed = serverID(0) + ":1-101" }, Wait},
		"one follows somebody else":       {0, func(v *Input) { v.Others[1].State.Source.ID, v.Others[1].State.Source.Host = serverID(8), "x" }, Wait},
		"one follows nobody":              {0, func(v *Input) { v.Others[1].State.Source = nil }, Wait},
		"its agent has just come":         {0, func(v *Input) { v.Others[1].Peer.Since = noon }, Wait},
		"without GTIDs":                   {0, func(v *Input) { noGTIDs(v) }, Open},
		"without GTIDs, one not there":    {0, func(v *Input) { noGTIDs(v); v.Others[1].State.Source.Receiving = false }, Wait},
		"without GTIDs, one cannot":       {0, func(v *Input) { noGTIDs(v); v.Others[1].State.Source.Failure = "error 1236" }, Wait},
		"a replica while nobody writes":   {1, func(*Input) {}, Done},
		"a replica that takes writes":     {1, func(v *Input) { v.Self.State.Writes = replication.Allowed }, Done},
		"a replica whose primary is gone": {1, func(v *Input) { v.Others = v.Others[1:] }, Done},
		"a replica that did not go on": {1, func(v *Input) {
			v.Others[0].State.Writes, v.Self.State.Source.Started = replication.Allowed, false
		}, Resume},
		"one that was stopped": {1, func(v *Input) {
			v.Others[0].State.Writes, v.Self.State.Source.Started, v.Ran = replication.Allowed, false, true
		}, Done},
		"a replica that follows nobody": {1, func(v *Input) {
			v.Others[0].State.Writes, v.Self.State.Source = replication.Allowed, nil
		}, Wait},
	} {
		t.Run(name, func(t *testing.T) {
			v := stays()
			v.Claim, v.Primary, v.Self.State.Writes = "", engines.PrimaryUnknown, replication.RefusedAtStart
			if c.self > 0 {
				v.Self.Peer.Pod, v.Self.Peer.Since = "db-0", noon.Add(-time.Hour)
				v.Self, v.Others[0] = v.Others[0], v.Self
			}
			c.edit(&v)
			a := Repair(v)
			require.Equal(t, c.kind, a.Kind, a.Reason)
		})
	}
}

func noGTIDs(v *Input) {
	v.Self.State.Executed = ""
	for i := range v.Others {
		v.Others[i].State.Executed, v.Others[i].State.Received = "", ""
		v.Others[i].State.Source.ByPosition = true
	}
}

// TestWritableReplicaOfASilentPrimary checks that a replica which takes writes does not make the pod
// of its primary, which has no agent, one that may go unasked.
func TestWritableReplicaOfASilentPrimary(t *testing.T) {
	v := stays()
	v.Self, v.Others = v.Others[0], []topology.Member{v.Others[1]}
	v.Self.State.Writes = replication.Allowed
	require.Contains(t, v.MayLead("db-0"), "follows db-0, which has no agent")
}
