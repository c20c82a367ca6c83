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
	var s State
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
			other.newest = v.others[0].state
			other.newest.Looked = time.Now()
			other.newest.Halted = time.Now().Add(-time.Minute)
			other.note = &Switch{From: "db-2", Until: time.Now().Add(30 * time.Second)}
			e := newEngine(nil, Options{Peers: elsewhere{member: other, ahead: ahead}})
			v.others[0].peer = engines.Peer{Node: other.newest.Node, Alive: true}
			look := func() engines.Health {
				v.others[0] = e.lookAt(t.Context(), v.others[0].peer, false)
				require.True(t, v.others[0].known, v.others[0].why)
				v.now = time.Now()
				return observation(v).Health
			}
			const old = "has not looked at it for long"
			for _, age := range []time.Duration{0, 2 * time.Second, 58 * time.Second} {
				time.Sleep(age)
				require.NotContains(t, look().Reason, old, "a look of %s ago by a clock that is %s ahead", age, ahead)
				m := v.others[0]
				require.Equal(t, time.Minute, m.state.Looked.Sub(m.state.Halted), "as its agent saw it")
				require.Nil(t, m.state.Age)
				if m.state.Switch != nil {
					require.WithinDuration(t, other.note.Until, m.state.Switch.Until, 0, "when a switchover ends does not depend on a clock either")
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
func primaryWithTwo() view {
	v := view{now: time.Now(), maxLag: 10 * time.Second}
	v.self = member{known: true, state: State{Node: "db-0", ID: uuid(0), Flavor: MySQL, Serving: true, Looked: v.now, Writes: Allowed, Executed: uuid(0) + ":1-9"}}
	for n := 1; n < 3; n++ {
		node, lag := fmt.Sprintf("db-%d", n), time.Duration(0)
		v.self.state.Replicas = append(v.self.state.Replicas, Replica{ID: uuid(n), Host: node, Port: 3306})
		v.others = append(v.others, member{known: true, peer: engines.Peer{Node: node, Alive: true}, state: State{
			Node: node, ID: uuid(n), Flavor: MySQL, Serving: true, Looked: v.now, Writes: RefusedAtStart, Executed: uuid(0) + ":1-9",
			Source: &Source{Host: "db-0.db", Port: 3306, ID: uuid(0), Receiving: true, Applying: true, Started: true, Lag: &lag},
		}})
	}
	return v
}

// The look may take as long as it likes to arrive: it is no newer than that.
func TestALookIsNotYoungerThanItsJourney(t *testing.T) {
	asked := time.Now()
	s := State{Looked: asked.Add(-10 * time.Second)}.told(asked.Add(5 * time.Second))
	require.Equal(t, 15*time.Second, *s.Age)
	require.Equal(t, asked.Add(-15*time.Second), s.heard(asked).Looked)

	negative := -time.Hour
	s.Age = &negative
	require.False(t, s.heard(asked).Looked.After(asked), "nobody looks in the future")
}

// An agent that tells no age is of an earlier version: pods are updated one by one, and
// the members go on telling each other what they see.
func TestALookWithoutAnAge(t *testing.T) {
	looked := time.Now().Add(-30 * time.Second)
	require.Equal(t, looked, State{Looked: looked}.heard(time.Now()).Looked)
}

// A member notes a try, and takes over, though the clock of the one that hands over is off:
// the steps bring their end by its own clock.
func TestTriesEndByTheOwnClock(t *testing.T) {
	for _, ahead := range []time.Duration{-2 * time.Hour, -time.Minute, 2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(simSetup{flavor: MySQL, members: 3}, false)
			n := Switch{Claim: "c", From: "db-0", At: time.Now().Add(ahead), Until: time.Now().Add(ahead + 30*time.Second)}
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
			require.True(t, a.State.Switch.same(&n))
			require.True(t, a.State.Switch.Until.Equal(end), "it is forgotten in time")

			w.list[0].writes = RefusedBySQL
			n.To, n.Frozen = "db-1", w.text(w.list[0].log)
			for range 100 {
				w.tick()
			}
			a = ask(stepPromote)
			require.Empty(t, a.Refused)
			require.Equal(t, Allowed, a.State.Writes)
		})
	}
}
