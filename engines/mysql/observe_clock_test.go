package mysql

import (
	"context"
	"encoding/json"
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
			v := fromPrimary()
			other := newEngine(nil, Options{})
			other.newest = v.others[0].state
			other.newest.Looked = time.Now()
			other.newest.Halted = time.Now().Add(-time.Minute)
			other.note = &Switch{From: nodeOf(2), Until: time.Now().Add(30 * time.Second)}
			e := newEngine(nil, Options{Peers: elsewhere{member: other, ahead: ahead}})
			seen := func() (sight, member) {
				v.others[0] = e.lookAt(t.Context(), v.others[0].peer, false)
				require.True(t, v.others[0].known, v.others[0].why)
				v.now = time.Now()
				s := see(v)
				return s, s.others[0]
			}
			v.others[0].peer = engines.Peer{Node: other.newest.Node, Alive: true}

			for _, age := range []time.Duration{0, 2 * time.Second, 58 * time.Second} {
				time.Sleep(age)
				_, m := seen()
				require.True(t, m.known, "a look of %s ago by a clock that is %s ahead: %s", age, ahead, m.why)
				require.Equal(t, time.Minute, m.state.Looked.Sub(m.state.Halted), "as its agent saw it")
				require.Nil(t, m.state.Age)
				if m.state.Switch != nil {
					require.WithinDuration(t, other.note.Until, m.state.Switch.Until, 0, "when a switchover ends does not depend on a clock either")
				}
			}
			time.Sleep(2 * time.Second)
			s, m := seen()
			require.False(t, m.known, "a clock that is %s ahead", ahead)
			require.Contains(t, m.why, "has not looked at it for long")
			require.Equal(t, engines.VerdictUnknown, s.verdict().Verdict)
		})
	}
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
