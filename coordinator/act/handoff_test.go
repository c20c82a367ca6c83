package act

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
)

// neighbours are agents of which some do not answer, and some cannot hand over for another.
type neighbours struct{ Agents }

func (neighbours) Relieve(ctx context.Context, to rollout.Target, order rollout.Order, member string) (rollout.Progress, error) {
	switch to.Pod {
	case "silent":
		<-ctx.Done()
		return rollout.Progress{}, ctx.Err()
	case "follower":
		return rollout.Progress{}, &rollout.OwnAgentOnlyError{Why: "it follows s-0, which has no agent"}
	}
	return rollout.Progress{State: model.DrainPreparing, Detail: member + " for " + order.Claim}, nil
}

func (neighbours) Unaided(context.Context, rollout.Target, rollout.Order) (rollout.Progress, error) {
	return rollout.Progress{}, errors.New("the database asks for credentials")
}

// The result says whom was asked to hand over, and what came of it. One who is silent holds
// it up for no longer than a call may take.
func TestHandingOverOnBehalf(t *testing.T) {
	for name, c := range map[string]struct {
		by     *rollout.Target
		says   string
		named  string
		takes  time.Duration
		detail string
	}{
		"through an agent":                {&rollout.Target{Pod: "s-1"}, "", "s-1", 0, "n0 for c"},
		"through one that is unavailable": {&rollout.Target{Pod: "silent"}, "hand over for it through silent: context deadline exceeded", "silent", rollout.CallTimeout, ""},
		"through one that cannot":         {&rollout.Target{Pod: "follower"}, "hand over for it through follower: it follows s-0, which has no agent", "follower", 0, ""},
		"by the coordinator":              {nil, "hand over for it: the database asks for credentials", "the coordinator", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &Executor{options: Options{Agents: neighbours{}}}
				began := time.Now()
				res := x.handOff(t.Context(), rollout.HandoffOnBehalf{Claim: "c", By: c.by, Member: "n0", Order: rollout.Order{Claim: "c"}}).(rollout.HandedOff)
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
				var own *rollout.OwnAgentOnlyError
				require.Equal(t, c.named == "follower", errors.As(res.Err, &own))
			})
		})
	}
}
