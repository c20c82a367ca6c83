package mysql

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/test/race"
)

// simStays is a database whose primary keeps its role: of a chart, or because people say so.
type simStays struct {
	// chart means that the primary is in a StatefulSet of its own and starts writable, and that its
	// replicas follow a Service's name.
	chart bool
	// writableReplicas means that the replicas take writes, too.
	writableReplicas bool
	// noGTIDs means that replicas follow by positions.
	noGTIDs bool
	// asked means that people say so. The servers are those of a database that can switch.
	asked bool
}

func (s simStays) inPlace() bool { return s.chart || s.asked }

// nameOf a member.
func (w *simWorld) nameOf(i int) string {
	switch {
	case w.stays.chart && i == 0:
		return "pri-0"
	case w.stays.chart:
		return fmt.Sprintf("sec-%d", i-1)
	}
	return fmt.Sprintf("db-%d", i)
}

// startsAs is what a server's configuration says.
func (w *simWorld) startsAs(i int) replication.Writes {
	if w.stays.chart && (i == 0 || w.stays.writableReplicas) {
		return replication.Allowed
	}
	return replication.RefusedAtStart
}

// tell changes what a server says to what the servers of such a database say.
func (s simStays) tell(server *simServer, st *replication.State) {
	if s.chart {
		st.Unnamed, st.StartsWritable = true, server.w.startsAs(server.id) == replication.Allowed
		for i := range st.Replicas {
			st.Replicas[i].Host, st.Replicas[i].Port = "", 0
		}
		if st.Source != nil {
			st.Source.Host = "pri"
		}
	}
	if s.noGTIDs {
		st.Executed, st.Received = "", ""
		st.Log = &replication.Place{File: "bin.000001", Position: uint64(len(server.log))}
		if st.Source != nil {
			st.Source.ByPosition, st.Source.Applied = true, &replication.Place{File: "bin.000001", Position: uint64(len(server.log))}
		}
	}
}

func (s simStays) configure(o *Options, pod string) {
	o.Pod = pod
	if s.asked {
		o.Primary = engines.RestartInPlace
	}
}

// writesToServer is called before something is written to a server. Where the primary keeps its role
// only it is ever opened, and nobody is made to follow anybody else.
func (w *simWorld) writesToServer(s *simServer, what string) {
	first := s.id == 0
	fine := what == "startFollowing" && !first || w.stays.asked && first && (what == "allowWrites" || what == "acknowledgeAs true")
	if w.stays.inPlace() && !fine {
		w.violate("%s: %s, though the primary keeps its role", s.name, what)
	}
}

// leavesInPlace is called when the primary's pod goes: its replicas that run have what it had when it
// was ordered, and are connected.
func (w *simWorld) leavesInPlace(a *simAgent) {
	if !w.stays.inPlace() {
		return
	}
	for i, s := range w.list[1:] {
		if agent := w.agents[i+1]; !s.up || s.hung || !agent.alive {
			continue
		}
		if lacks := slices.ContainsFunc(a.server.log[:w.ordered], func(t txn) bool { return !containsTxn(s.log, t) }); lacks {
			w.violate("%s goes, and %s has %d of %d", a.name, s.name, len(s.log), w.ordered)
		}
	}
}

func staying() []simSetup {
	var out []simSetup
	for _, flavor := range []replication.Flavor{replication.MySQL, replication.MariaDB} {
		out = append(out,
			simSetup{flavor: flavor, members: 3, stays: simStays{chart: true}},
			simSetup{flavor: flavor, members: 2, acks: 1, stays: simStays{chart: true}, skipStart: true},
			simSetup{flavor: flavor, members: 3, stays: simStays{chart: true, writableReplicas: true}},
			simSetup{flavor: flavor, members: 1, stays: simStays{chart: true}},
			simSetup{flavor: flavor, members: 3, acks: 1, stays: simStays{asked: true}},
			simSetup{flavor: flavor, members: 2, stays: simStays{asked: true}},
		)
	}
	return append(out,
		simSetup{flavor: replication.MySQL, members: 3, stays: simStays{chart: true, noGTIDs: true}},
		simSetup{flavor: replication.MySQL, members: 2, stays: simStays{chart: true, noGTIDs: true, writableReplicas: true}},
		simSetup{flavor: replication.MySQL, members: 3, stays: simStays{asked: true, noGTIDs: true}},
	)
}

// TestSimulatedRestartInPlace checks that a primary that keeps its role goes when its replicas have
// everything, takes writes when it is back, and is followed again, without a change of any server.
func TestSimulatedRestartInPlace(t *testing.T) {
	for _, setup := range staying() {
		w := simulate(t, setup)
		require.Empty(t, w.violations, "%s %+v: %s", setup, setup.stays, w.story())
		require.Equal(t, replication.Allowed, w.list[0].writes, "%s %+v", setup, setup.stays)
		require.NotZero(t, len(w.acked))
	}
}

// TestOneBreakInPlace breaks one thing at each boundary of a restart in place.
func TestOneBreakInPlace(t *testing.T) {
	j := judge{T: t}
	for _, setup := range staying() {
		whole := simulate(t, setup).restored + 5
		for _, kind := range kinds(setup.members) {
			for at := 1; at <= whole; at++ {
				if j.tried++; *allBreaks || j.tried%61 == 0 && race.Part(j.tried/61, 15) {
					j.try(setup, simBreak{kind: kind, at: at})
				}
			}
		}
	}
	t.Log(j.runs, "schedules")
}

// TestNobodyOpensAReplicaOfAFixedPrimary checks that a member that knows of a fixed primary notes no
// try of anybody, and follows nobody else, whoever asks.
func TestNobodyOpensAReplicaOfAFixedPrimary(t *testing.T) {
	w := newWorld(simSetup{flavor: replication.MySQL, members: 3, stays: simStays{chart: true}}, true)
	replica := w.agents[1].engine
	_, err := replica.Observe(t.Context())
	require.NoError(t, err)
	now := time.Now()
	for _, name := range []string{stepIntend, stepFollow} {
		a, err := w.agents[2].engine.ask(t.Context(), "sec-0", name, body{
			Switch: replication.Switch{Claim: "c", At: now, From: "sec-1", Until: now.Add(time.Minute)}, Primary: "pri-0",
		}, task{})
		require.NoError(t, err)
		require.Contains(t, a.Refused, "keeps its role", name)
	}
	require.Equal(t, "pri-0", replica.stays())
}

// TestPlannedRestartInPlace checks that an agent does nothing else than was ordered and planned.
func TestPlannedRestartInPlace(t *testing.T) {
	w := newWorld(simSetup{flavor: replication.MySQL, members: 2, stays: simStays{chart: true}}, true)
	e := w.agents[0].engine
	order := engines.Order{Kind: engines.Handoff, Claim: "c", NotAfter: time.Now().Add(time.Minute)}
	undo, err := e.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	planned, err := decodeUndo(undo)
	require.NoError(t, err)
	require.True(t, planned.InPlace)
	require.False(t, planned.Wrote)
	p, err := e.Restore(t.Context(), undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State, "there is nothing to undo")

	order.Primary = engines.Switchover
	p, err = e.Drain(t.Context(), order, undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Contains(t, p.Detail, "the order is Switchover for the primary, and pri-0 planned RestartInPlace")

	order.Primary, e.options.Primary = engines.RestartInPlace, engines.Switchover // the spec was changed meanwhile
	p, err = e.Drain(t.Context(), order, undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Contains(t, p.Detail, "is to restart in place")
	require.Empty(t, w.violations)

	other := newWorld(simSetup{flavor: replication.MySQL, members: 2, stays: simStays{chart: true}}, true).agents[0].engine
	other.options.Primary = engines.Switchover
	undo, err = other.PlanDrain(t.Context(), engines.Order{Kind: engines.Handoff, Claim: "c"})
	require.NoError(t, err)
	other.options.Primary = engines.PrimaryUnknown
	p, err = other.Drain(t.Context(), engines.Order{Kind: engines.Handoff, Claim: "c"}, undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Contains(t, p.Detail, "is to hand over its role, and as it looks now nobody else may have it")
}

// TestStoppedInPlace checks that a pod that is stopped without a claim waits a little for a replica
// that lacks something, and then goes, while one with a claim goes on waiting.
func TestStoppedInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, epoch := range []int64{0, 7} {
			w := newWorld(simSetup{flavor: replication.MySQL, members: 2, stays: simStays{chart: true}}, true)
			w.list[1].threads = false
			e := w.agents[0].engine
			order := engines.Order{Kind: engines.Handoff, Claim: "stop", Epoch: epoch, NotAfter: time.Now().Add(time.Minute)}
			undo, err := e.PlanDrain(t.Context(), order)
			require.NoError(t, err)
			began := time.Now()
			p, err := e.Drain(t.Context(), order, undo)
			for ; err == nil && p.State == engines.ProgressRunning && time.Since(began) < 20*time.Second; time.Sleep(500 * time.Millisecond) {
				p, err = e.Drain(t.Context(), order, undo)
			}
			require.NoError(t, err)
			if epoch > 0 {
				require.Equal(t, engines.ProgressRunning, p.State)
				continue
			}
			require.Equal(t, engines.ProgressDone, p.State)
			require.Contains(t, p.Detail, "it is stopped in place, and was not waited for any longer: sec-0 has stopped replicating")
			require.Less(t, time.Since(began), 7*time.Second)
			require.Empty(t, w.violations)
		}
	})
}
