package mysql

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
)

// asks has db-1 take steps, in a world where nothing else happens.
func asks(t *testing.T, test func(t *testing.T, w *simWorld, ask func(step string, b body) answer)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MySQL, members: 3}, false)
		test(t, w, func(step string, b body) answer {
			data, err := json.Marshal(b)
			require.NoError(t, err)
			data, err = w.agents[1].engine.Step(t.Context(), engines.Step{Name: step, Claim: b.Switch.Claim, Body: data})
			require.NoError(t, err)
			var a answer
			require.NoError(t, json.Unmarshal(data, &a))
			return a
		})
	})
}

func try() replication.Switch {
	return replication.Switch{Claim: "c", From: "db-0", At: time.Now(), Until: time.Now().Add(30 * time.Second)}
}

func TestIntend(t *testing.T) {
	asks(t, func(t *testing.T, w *simWorld, ask func(string, body) answer) {
		n := try()
		a := ask(stepIntend, body{Switch: n})
		require.Empty(t, a.Refused)
		require.True(t, a.State.Switch.Same(&n))
		require.Empty(t, ask(stepIntend, body{Switch: n}).Refused, "again")

		other := n
		other.From, other.Claim = "db-2", "d"
		require.Contains(t, ask(stepIntend, body{Switch: other}).Refused, "db-0 is handing over")
		earlier := n
		earlier.At = n.At.Add(-time.Second)
		require.Contains(t, ask(stepIntend, body{Switch: earlier}).Refused, "later try")

		time.Sleep(31 * time.Second)
		require.Contains(t, ask(stepIntend, body{Switch: n}).Refused, "over")
		other.At, other.Until = time.Now(), time.Now().Add(time.Second)
		require.Empty(t, ask(stepIntend, body{Switch: other}).Refused, "the first is over by its time")
	})
}

// TestForgottenTriesStayForgotten checks that what comes late of a try that was given up does
// nothing, whatever the order.
func TestForgottenTriesStayForgotten(t *testing.T) {
	asks(t, func(t *testing.T, w *simWorld, ask func(string, body) answer) {
		n := try()
		ask(stepIntend, body{Switch: n})
		require.Nil(t, ask(stepForget, body{Switch: n}).State.Switch)
		require.Contains(t, ask(stepIntend, body{Switch: n}).Refused, "this try is over")
		n.To, n.Frozen = "db-1", w.text(w.list[1].log)
		require.Contains(t, ask(stepPromote, body{Switch: n}).Refused, "has not noted this try")
		require.Equal(t, replication.RefusedAtStart, w.list[1].writes)
		time.Sleep(time.Second)
		require.Empty(t, ask(stepIntend, body{Switch: try()}).Refused, "the next try is another one")
	})
}

func TestPromote(t *testing.T) {
	asks(t, func(t *testing.T, w *simWorld, ask func(string, body) answer) {
		n := try()
		ask(stepIntend, body{Switch: n})
		n.To, n.Frozen = "db-1", uuid(0)+":1-1000"
		require.Contains(t, ask(stepPromote, body{Switch: n}).Refused, "has not caught up")
		require.Equal(t, "db-0", w.list[1].source, "nothing was changed")
		require.Contains(t, ask(stepCatchUp, body{Switch: replication.Switch{Claim: "c", From: "db-2"}}).Refused, "has not noted")

		w.list[0].writes = replication.RefusedBySQL
		n.Frozen = w.text(w.list[0].log)
		for range 100 {
			w.tick()
		}
		a := ask(stepPromote, body{Switch: n})
		require.Empty(t, a.Refused)
		require.Equal(t, replication.Allowed, a.State.Writes)
		require.Nil(t, a.State.Switch)
		require.NotEmpty(t, ask(stepPromote, body{Switch: n}).Refused, "its note is used up")
		require.Equal(t, replication.Allowed, w.list[1].writes)
	})
}

func TestPromoteTooLate(t *testing.T) {
	asks(t, func(t *testing.T, w *simWorld, ask func(string, body) answer) {
		n := try()
		ask(stepIntend, body{Switch: n})
		n.To, n.Frozen = "db-1", w.text(w.list[1].log)
		time.Sleep(30 * time.Second)
		require.NotEmpty(t, ask(stepPromote, body{Switch: n}).Refused)
		data, err := json.Marshal(body{Switch: n})
		require.NoError(t, err)
		_, err = w.agents[1].engine.Step(t.Context(), engines.Step{Name: stepPromote, NotAfter: time.Now().Add(-time.Second), Body: data})
		require.ErrorIs(t, err, engines.ErrTooLate)
		require.Equal(t, replication.RefusedAtStart, w.list[1].writes)
	})
}

func TestFollowStep(t *testing.T) {
	asks(t, func(t *testing.T, w *simWorld, ask func(string, body) answer) {
		require.Contains(t, ask(stepFollow, body{Primary: "db-2"}).Refused, "does not see that db-2 allows writes")
		require.Contains(t, ask(stepFollow, body{Primary: "db-9"}).Refused, "does not see")
		w.list[1].source, w.list[1].threads = "", false
		w.list[1].log = append(w.list[1].log, txn{origin: 1, seq: 1, n: -1})
		require.Contains(t, ask(stepFollow, body{Primary: "db-0"}).Refused, "db-1 has what db-0 has not")
		w.list[1].log = w.list[1].log[:len(w.list[1].log)-1]
		w.agents[1].engine.domains.Learn("db-0", ".db.ns.svc")
		require.Empty(t, ask(stepFollow, body{Primary: "db-0"}).Refused)
		require.Equal(t, "db-0", w.list[1].source)
	})
}

func TestStepsThatAreNone(t *testing.T) {
	asks(t, func(t *testing.T, w *simWorld, _ func(string, body) answer) {
		for name, text := range map[string]string{"dance": "{}", stepIntend: "{}", stepPromote: "no", stepForget: `{} {}`, stepReopen: "{}"} {
			_, err := w.agents[1].engine.Step(t.Context(), engines.Step{Name: name, Body: []byte(text)})
			require.ErrorIs(t, err, errStep, name)
		}
		_, err := w.agents[1].engine.Step(t.Context(), engines.Step{Name: stepForget, Body: make([]byte, engines.MaxStep+1)})
		require.ErrorIs(t, err, errStep)
	})
}

// TestRestoreByAnotherAgent checks that only the agent of the drained node can take its role back;
// another one asks it.
func TestRestoreByAnotherAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MySQL, members: 3}, false)
		order := engines.Order{Kind: engines.Handoff, Claim: "c"}
		undo, err := w.agents[0].engine.PlanDrain(t.Context(), order)
		require.NoError(t, err)
		w.list[0].writes = replication.RefusedBySQL // an agent stopped writes, and ended
		w.agents[0].begin()
		p, err := w.agents[2].engine.Restore(t.Context(), undo)
		require.NoError(t, err)
		require.Equal(t, engines.ProgressRunning, p.State)
		for range 3 {
			_, err = w.agents[0].engine.Repair(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, replication.Allowed, w.list[0].writes)
		p, err = w.agents[2].engine.Restore(t.Context(), undo)
		require.NoError(t, err)
		require.Equal(t, engines.ProgressDone, p.State, p.Detail)
	})
}

// TestSomebodysReadOnlyStays checks that who made the primary read-only before an order meant it.
func TestSomebodysReadOnlyStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MariaDB, members: 3}, false)
		w.list[0].writes = replication.RefusedBySQL
		order := engines.Order{Kind: engines.Handoff, Claim: "c"}
		e := w.agents[0].engine
		undo, err := e.PlanDrain(t.Context(), order)
		require.NoError(t, err)
		for range 3 {
			_, err = e.Drain(t.Context(), order, undo)
			require.NoError(t, err)
			p, err := e.Restore(t.Context(), undo)
			require.NoError(t, err)
			require.Equal(t, engines.ProgressDone, p.State)
			_, err = e.Repair(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, replication.RefusedBySQL, w.list[0].writes)
	})
}

// TestSomebodyClosesDuringAnOrder checks that a person who moves the role by hand closes the
// primary first. It is not opened again, by an order, its undo or anybody's request.
func TestSomebodyClosesDuringAnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MySQL, members: 3}, false)
		order := engines.Order{Kind: engines.Handoff, Claim: "c"}
		e := w.agents[0].engine
		undo, err := e.PlanDrain(t.Context(), order)
		require.NoError(t, err)
		for range 30 {
			time.Sleep(time.Second)
			_, err = e.Look(t.Context(), true)
			require.NoError(t, err)
		}
		w.list[0].writes = replication.RefusedBySQL
		for range 3 {
			p, err := e.Drain(t.Context(), order, undo)
			require.NoError(t, err)
			require.Equal(t, engines.ProgressRunning, p.State)
			require.Contains(t, p.Detail, "db-0 was made read-only by somebody")
			_, err = e.Repair(t.Context())
			require.NoError(t, err)
			refused, err := e.reopen(t.Context(), engines.Step{}, body{Switch: replication.Switch{Claim: "c", From: "db-0"}}, e.local(t.Context()))
			require.NoError(t, err)
			require.Contains(t, refused, "read-only by somebody")
			p, err = e.Restore(t.Context(), undo)
			require.NoError(t, err)
			require.Equal(t, engines.ProgressDone, p.State)
		}
		require.Equal(t, replication.RefusedBySQL, w.list[0].writes)
	})
}

// TestRefusedByTheServer checks that servers that do not let their agents forget a source (the
// account lacks RELOAD) cost a moment, and go on replicating.
func TestRefusedByTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MySQL, members: 3, acks: 1}, false)
		w.keepsSource = true
		for range 40 { // the agents see replication run
			time.Sleep(250 * time.Millisecond)
			for _, a := range w.agents {
				a.turn()
			}
		}
		order := engines.Order{Kind: engines.Handoff, Claim: "c", NotAfter: time.Now().Add(time.Minute)}
		e := w.agents[0].engine
		undo, err := e.PlanDrain(t.Context(), order)
		require.NoError(t, err)
		began := time.Now()
		p, err := e.Drain(t.Context(), order, undo)
		require.NoError(t, err)
		require.Less(t, time.Since(began), 5*time.Second, "writes are stopped meanwhile")
		require.Equal(t, engines.ProgressRunning, p.State)
		require.Contains(t, p.Detail, "needs RELOAD")
		require.Equal(t, replication.Allowed, w.list[0].writes)
		for range 20 {
			time.Sleep(250 * time.Millisecond)
			for _, a := range w.agents {
				a.turn()
			}
		}
		for _, s := range w.list[1:] {
			require.True(t, s.threads, s.name)
		}
	})
}

// TestSweep gives up what no open claim owns.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MySQL, members: 3}, false)
		e := w.agents[0].engine
		n := try()
		e.keep(&n)
		w.list[0].writes = replication.RefusedBySQL
		require.NoError(t, e.Sweep(t.Context(), []string{"c"}))
		require.Equal(t, replication.RefusedBySQL, w.list[0].writes)
		require.NoError(t, e.Sweep(t.Context(), nil))
		require.Equal(t, replication.Allowed, w.list[0].writes)
		require.Nil(t, e.newestLook().Switch)
	})
}

// TestNever checks that an agent whose server does not answer can tell that it was not told to take
// over, but not when it was, or does not know.
func TestNever(t *testing.T) {
	asks(t, func(t *testing.T, w *simWorld, ask func(string, body) answer) {
		n := try()
		require.False(t, ask(stepForget, body{Switch: n}).Never, "it has never heard of it")
		n = try()
		n.At = n.At.Add(time.Second)
		require.Empty(t, ask(stepIntend, body{Switch: n}).Refused)
		w.list[1].hung = true
		for range 2 {
			a := ask(stepForget, body{Switch: n})
			require.True(t, a.Never, "also when it is asked again")
			require.False(t, a.State.Serving)
		}
		later := n
		later.At = n.At.Add(time.Second)
		require.False(t, ask(stepForget, body{Switch: later}).Never, "that is another one")

		w.list[1].hung = false
		n.At = later.At.Add(time.Second)
		require.Empty(t, ask(stepIntend, body{Switch: n}).Refused)
		time.Sleep(31 * time.Second)
		require.True(t, ask(stepForget, body{Switch: n}).Never, "it was over by its time")

		n = try()
		n.At = n.At.Add(time.Minute)
		n.Until = n.At.Add(time.Minute)
		require.Empty(t, ask(stepIntend, body{Switch: n}).Refused)
		begun := n
		begun.To, begun.Promoting = "db-1", true
		w.agents[1].engine.keep(&begun)
		require.False(t, ask(stepForget, body{Switch: n}).Never, "it has begun")

		n.At = n.At.Add(time.Second)
		require.Empty(t, ask(stepIntend, body{Switch: n}).Refused)
		n.To, n.Frozen = "db-1", w.text(w.list[1].log)
		require.Empty(t, ask(stepPromote, body{Switch: n}).Refused)
		require.False(t, ask(stepForget, body{Switch: n}).Never, "it has taken over")
	})
}

// TestRefusedAgain checks that who refuses at once has not begun, and writes are not kept stopped
// for it; who was asked before may have.
func TestRefusedAgain(t *testing.T) {
	for _, asked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(simSetup{flavor: replication.MySQL, members: 3}, false)
			e := w.agents[0].engine
			n := try()
			n.Frozen = w.text(w.list[0].log)
			if asked {
				n.To, n.Promoting = "db-1", true
			}
			e.keep(&n)
			w.list[0].writes = replication.RefusedBySQL
			v, err := e.gather(t.Context(), task{claim: "c"}, true)
			require.NoError(t, err)
			require.NoError(t, e.carryOut(t.Context(), v, task{}, switchover.Action{Kind: switchover.Promote, To: "db-1"}))
			require.Equal(t, asked, e.newestLook().Switch.Promoting)
			require.Equal(t, asked, e.newestLook().Switch.To == "db-1")
		})
	}
}

// TestTakeBackHearsTheAnswer checks that somebody took over between the look and the question.
func TestTakeBackHearsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MySQL, members: 3}, false)
		e := w.agents[0].engine
		n := try()
		n.To, n.Promoting = "db-1", true
		e.keep(&n)
		w.list[0].writes = replication.RefusedBySQL
		v, err := e.gather(t.Context(), task{claim: "c"}, true)
		require.NoError(t, err)
		a := switchover.Action{Kind: switchover.TakeBack, Ask: []string{"db-1"}}
		w.list[1].writes = replication.Allowed
		require.ErrorContains(t, e.carryOut(t.Context(), v, task{}, a), "does not say that it refuses writes")
		require.Equal(t, replication.RefusedBySQL, w.list[0].writes)
		w.list[1].writes = replication.RefusedAtStart
		require.NoError(t, e.carryOut(t.Context(), v, task{}, a))
		require.Equal(t, replication.Allowed, w.list[0].writes)
	})
}
