package act

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// neighbours are agents of which some do not answer, and some cannot hand over for another.
type neighbours struct{ AgentClient }

func (neighbours) HandoffOnBehalf(ctx context.Context, to effect.Target, order effect.Order, member string) (effect.Progress, error) {
	switch to.Pod {
	case "silent":
		<-ctx.Done()
		return effect.Progress{}, ctx.Err()
	case "follower":
		return effect.Progress{}, &effect.OwnAgentOnlyError{Why: "it follows s-0, which has no agent"}
	}
	return effect.Progress{State: model.DrainRunning, Detail: member + " for " + order.Claim}, nil
}

func (neighbours) HandoffWithoutAgents(context.Context, effect.Target, effect.Order) (effect.Progress, error) {
	return effect.Progress{}, errors.New("the database asks for credentials")
}

// The result says which agent was asked to hand over, and the outcome. An agent that does not
// answer holds it up for no longer than a call may take.
func TestHandoffOnBehalf(t *testing.T) {
	for name, c := range map[string]struct {
		by     *effect.Target
		says   string
		named  string
		takes  time.Duration
		detail string
	}{
		"through an agent":                {&effect.Target{Pod: "s-1"}, "", "s-1", 0, "n0 for c"},
		"through one that is unavailable": {&effect.Target{Pod: "silent"}, "hand over for it through silent: context deadline exceeded", "silent", effect.CallTimeout, ""},
		"through one that cannot":         {&effect.Target{Pod: "follower"}, "hand over for it through follower: it follows s-0, which has no agent", "follower", 0, ""},
		"by the coordinator":              {nil, "hand over for it: the database asks for credentials", "the coordinator", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &Executor{options: Options{Agents: neighbours{}}}
				began := time.Now()
				res := x.handoffOnBehalf(t.Context(), effect.HandoffOnBehalf{Claim: "c", By: c.by, Member: "n0", Order: effect.Order{Claim: "c"}}).(effect.HandedOff)
				require.Equal(t, c.takes, time.Since(began))
				require.Equal(t, "c", res.Claim)
				require.Equal(t, began, res.Began)
				require.Equal(t, c.named, res.By)
				require.Equal(t, c.detail, res.Progress.Detail)
				if c.says == "" {
					require.NoError(t, res.Err)
					return
				}
				require.EqualError(t, res.Err, c.says)
				var own *effect.OwnAgentOnlyError
				require.Equal(t, c.named == "follower", errors.As(res.Err, &own))
			})
		})
	}
}
