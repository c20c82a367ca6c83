package mysql

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// elsewhere are members on nodes whose clocks are ahead by so much.
type elsewhere struct {
	engines.Peers
	member *Engine
	ahead  time.Duration
}

func (p elsewhere) Look(ctx context.Context, _ string, fresh bool) ([]byte, error) {
	data, err := p.member.Look(ctx, fresh)
	if err != nil {
		return nil, err
	}
	var s replication.State
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	s.Looked = s.Looked.Add(p.ahead)
	if !s.Halted.IsZero() {
		s.Halted = s.Halted.Add(p.ahead)
	}
	if s.Switch != nil {
		s.Switch.Until = s.Switch.Until.Add(p.ahead)
	}
	return json.Marshal(s)
}

// How old another member's look is does not depend on the clock of its node.
func TestALookIsAsOldAsItsAgentSays(t *testing.T) {
	for _, ahead := range []time.Duration{0, -61 * time.Second, 61 * time.Second, -2 * time.Hour, 2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			v := primaryWithTwo()
			other := newEngine(nil, Options{})
			other.newest = v.Others[0].State
			other.newest.Looked = time.Now()
			other.newest.Halted = time.Now().Add(-time.Minute)
			other.note = &replication.Switch{From: "db-2", Until: time.Now().Add(30 * time.Second)}
			e := newEngine(nil, Options{Peers: elsewhere{member: other, ahead: ahead}})
			v.Others[0].Peer = engines.Peer{Node: other.newest.Node, Alive: true}
			look := func() engines.Health {
				v.Others[0] = e.lookAt(t.Context(), v.Others[0].Peer, false)
				require.True(t, v.Others[0].Known, v.Others[0].Why)
				v.Now = time.Now()
				return topology.Observe(v).Health
			}
			const old = "has not looked at it for long"
			for _, age := range []time.Duration{0, 2 * time.Second, 58 * time.Second} {
				time.Sleep(age)
				require.NotContains(t, look().Reason, old, "a look of %s ago by a clock that is %s ahead", age, ahead)
				m := v.Others[0]
				require.Equal(t, time.Minute, m.State.Looked.Sub(m.State.Halted), "as its agent saw it")
				require.Nil(t, m.State.Age)
				if m.State.Switch != nil {
					require.WithinDuration(t, other.note.Until, m.State.Switch.Until, 0, "when a switchover ends does not depend on a clock either")
				}
			}
			time.Sleep(2 * time.Second)
			health := look()
			require.Contains(t, health.Reason, old, "a clock that is %s ahead", ahead)
			require.Equal(t, engines.VerdictUnknown, health.Verdict)
		})
	}
}

// primaryWithTwo is what db-0 sees, a primary that db-1 and db-2 follow.
func primaryWithTwo() topology.View {
	v := topology.View{Now: time.Now(), MaxLag: 10 * time.Second}
	v.Self = topology.Member{Known: true, State: replication.State{Node: "db-0", ID: uuid(0), Flavor: replication.MySQL, Serving: true, Looked: v.Now, Writes: replication.Allowed, Executed: uuid(0) + ":1-9"}}
	for n := 1; n < 3; n++ {
		node, lag := fmt.Sprintf("db-%d", n), time.Duration(0)
		v.Self.State.Replicas = append(v.Self.State.Replicas, replication.Replica{ID: uuid(n), Host: node, Port: 3306})
		v.Others = append(v.Others, topology.Member{Known: true, Peer: engines.Peer{Node: node, Alive: true}, State: replication.State{
			Node: node, ID: uuid(n), Flavor: replication.MySQL, Serving: true, Looked: v.Now, Writes: replication.RefusedAtStart, Executed: uuid(0) + ":1-9",
			Source: &replication.Source{Host: "db-0.db", Port: 3306, ID: uuid(0), Receiving: true, Applying: true, Started: true, Lag: &lag},
		}})
	}
	return v
}

// The look may take as long as it likes to arrive: it is no newer than that.
func TestALookIsNotYoungerThanItsJourney(t *testing.T) {
	asked := time.Now()
	s := replication.State{Looked: asked.Add(-10 * time.Second)}.Told(asked.Add(5 * time.Second))
	require.Equal(t, 15*time.Second, *s.Age)
	require.Equal(t, asked.Add(-15*time.Second), s.Heard(asked).Looked)

	negative := -time.Hour
	s.Age = &negative
	require.False(t, s.Heard(asked).Looked.After(asked), "nobody looks in the future")
}

// An agent that tells no age is of an earlier version: pods are updated one by one, and
// the members go on telling each other what they see.
func TestALookWithoutAnAge(t *testing.T) {
	looked := time.Now().Add(-30 * time.Second)
	require.Equal(t, looked, replication.State{Looked: looked}.Heard(time.Now()).Looked)
}

// A member notes a try, and takes over, though the clock of the one that hands over is off:
// the steps bring their end by its own clock.
func TestTriesEndByTheOwnClock(t *testing.T) {
	for _, ahead := range []time.Duration{-2 * time.Hour, -time.Minute, 2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(simSetup{flavor: replication.MySQL, members: 3}, false)
			n := replication.Switch{Claim: "c", From: "db-0", At: time.Now().Add(ahead), Until: time.Now().Add(ahead + 30*time.Second)}
			end := time.Now().Add(30 * time.Second)
			ask := func(step string) (a answer) {
				data, err := json.Marshal(body{Switch: n})
				require.NoError(t, err)
				data, err = w.agents[1].engine.Step(t.Context(), engines.Step{Name: step, Claim: n.Claim, NotAfter: end, Body: data})
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(data, &a))
				return a
			}
			a := ask(stepIntend)
			require.Empty(t, a.Refused)
			require.True(t, a.State.Switch.Same(&n))
			require.True(t, a.State.Switch.Until.Equal(end), "it is forgotten in time")

			w.list[0].writes = replication.RefusedBySQL
			n.To, n.Frozen = "db-1", w.text(w.list[0].log)
			for range 100 {
				w.tick()
			}
			a = ask(stepPromote)
			require.Empty(t, a.Refused)
			require.Equal(t, replication.Allowed, a.State.Writes)
		})
	}
}
