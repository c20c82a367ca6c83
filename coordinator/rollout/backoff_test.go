package rollout

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// TestRetriesGrow up to a limit, and begin again after a success.
func TestRetriesGrow(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	var r retry
	for range 2 {
		for _, want := range []time.Duration{
			100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond,
			3200 * time.Millisecond, 5 * time.Second, 5 * time.Second,
		} {
			r.failed(now, errors.New("no answer"))
			require.Equal(t, want, r.retryAt.Sub(now))
			require.Equal(t, "no answer", r.problem)
		}
		r.succeeded()
		require.Equal(t, retry{}, r)
	}
	r.errors = 1000
	r.failed(now, errors.New("no answer"))
	require.Equal(t, 5*time.Second, r.retryAt.Sub(now))
	r.later(now.Add(time.Second), "its successor")
	require.Equal(t, retry{retryAt: now.Add(time.Second), problem: "its successor"}, r)
}

// A pod is left alone longer each time a claim on it is given up, and other pods are not.
func TestAPodIsLeftAloneLongerEachTime(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	a := stepOn(Facts{}, now)
	for _, want := range []time.Duration{
		10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute,
	} {
		a.leaveAlone("u1", model.RuleVeto, "its agent refuses")
		require.Equal(t, want, a.s.backoffs["u1"].until.Sub(a.now))
		require.False(t, a.backsOff("u2"))
		began := a.now
		a.now = began.Add(want - 1)
		require.True(t, a.backsOff("u1"))
		a.out.Wake = time.Time{}
		a.wakeForBackoffs()
		require.Equal(t, began.Add(want), a.out.Wake)
		a.now = began.Add(want)
		require.False(t, a.backsOff("u1"))
	}
}

// TestRefusedRemovals tests how long after each refusal the next removal may be tried, and after
// how many in a row the claim is given up, under which rule.
func TestRefusedRemovals(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	growing := []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond,
		3200 * time.Millisecond, 5 * time.Second, 5 * time.Second, 5 * time.Second, 5 * time.Second,
	}
	for name, c := range map[string]struct {
		err    error
		most   int // 0 means never
		rule   model.Rule
		pauses func(i int) time.Duration
	}{
		"the pod keeps changing":    {effect.ErrConflict, 5, model.RuleConflict, func(int) time.Duration { return 0 }},
		"a foreign budget":          {effect.ErrBudget, 6, model.RuleForeignBudget, func(int) time.Duration { return 5 * time.Second }},
		"the cache is behind":       {effect.ErrBehind, 30, model.RuleConflict, func(int) time.Duration { return time.Second }},
		"no reason with a name":     {errors.New("a webhook"), 10, model.RuleVeto, func(i int) time.Duration { return growing[i] }},
		"the object has changed":    {effect.ErrChanged, 0, "", func(int) time.Duration { return 0 }},
		"the StatefulSet has":       {effect.ErrSetChanged, 0, "", func(int) time.Duration { return 0 }},
		"another coordinator leads": {effect.ErrSuperseded, 0, "", func(int) time.Duration { return 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			a, r := stepOn(Facts{}, now), &attempt{}
			for i := range 40 {
				if c.most > 0 && i == c.most {
					break
				}
				require.Empty(t, r.giveUp, "%d", i)
				r.refusedUntil = time.Time{}
				a.refused(r, c.err, false)
				want := time.Time{}
				if pause := c.pauses(i); pause > 0 {
					want = now.Add(pause)
				}
				require.Equal(t, want, r.refusedUntil, "%d", i)
			}
			require.Equal(t, c.most > 0, r.giveUp != "")
			require.Equal(t, c.rule, r.backoff)
			require.Equal(t, errors.Is(c.err, effect.ErrSuperseded), a.s.superseded)
		})
	}
}
