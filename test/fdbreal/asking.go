package fdbreal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/engines"
)

// Asked is what became of asking again and again who may go.
type Asked struct {
	Times int
	// Slowest is the longest that all agents' looks together took.
	Slowest time.Duration
	// Went are answers in which a pod of another zone might go, with what was so then.
	Wrong []string
	// May counts the answers in which a pod of each zone might go.
	May map[string]int
	// Words are all reasons that were given.
	Words string
}

func (a Asked) String() string {
	return fmt.Sprintf("asked %d times, the slowest look at all took %s, might go %v, wrongly %d times", a.Times, a.Slowest.Round(time.Millisecond), a.May, len(a.Wrong))
}

// AskUntil asks who may go until done, or limit has passed. Pods of other zones than only may not; with no zone at all nobody may.
func (r *Rollcall) AskUntil(limit time.Duration, done func(model.Snapshot, model.Plan) bool, only ...string) Asked {
	r.t.Helper()
	asked := Asked{May: map[string]int{}}
	seen, said := map[string]bool{}, ""
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Second) {
		begun := time.Now()
		s, plan := r.Ask(r.t.Context())
		asked.Times++
		asked.Slowest = max(asked.Slowest, time.Since(begun))
		for zone, pods := range r.goers(plan) {
			asked.May[zone]++
			if !slices.Contains(only, zone) {
				asked.Wrong = append(asked.Wrong, fmt.Sprintf("%s %v of %s may go (%s: %s)", clock(), pods, zone, s.Health.Verdict, s.Health.Reason))
			}
		}
		for line := range strings.Lines(words(s, plan)) {
			if !seen[line] {
				seen[line] = true
				asked.Words += line
			}
		}
		asked.Words += "\n"
		if text := fmt.Sprintf("%s (%s), may go %v", s.Health.Verdict, s.Health.Reason, r.goers(plan)); text != said {
			r.t.Logf("%s Rollcall: %s, %s", clock(), text, r.looked())
			if len(plan.Holds) > 0 {
				r.t.Logf("           held: %s %s: %s", plan.Holds[0].Pod, plan.Holds[0].Rule, plan.Holds[0].Reason)
			}
			said = text
		}
		if done != nil && done(s, plan) {
			break
		}
	}
	return asked
}

// looked says how the agents' last looks went.
func (r *Rollcall) looked() string {
	live, slowest, problem := 0, time.Duration(0), ""
	for _, a := range r.agents {
		if a == nil {
			continue
		}
		o, err := a.last()
		if err == nil && o.Member == engines.MembershipLive {
			live++
		} else {
			problem = fmt.Sprintf(" (%s: %s %s %v)", a.pod.Name, o.Member, firstLine(o.Health.Reason), err)
		}
		slowest = max(slowest, a.took)
	}
	return fmt.Sprintf("%d of %d agents live, the slowest look took %s%s", live, len(r.c.Pods), slowest.Round(10*time.Millisecond), problem)
}

// anybody is true when some pod may go.
func (r *Rollcall) anybody(_ model.Snapshot, plan model.Plan) bool { return len(r.goers(plan)) > 0 }

// RequireAnybody waits until some pod may go.
func (r *Rollcall) RequireAnybody(limit time.Duration) {
	r.t.Helper()
	begun := time.Now()
	asked := r.AskUntil(limit, r.anybody, zones...)
	require.NotEmpty(r.t, asked.May, "nobody may go after %s:\n%s", limit, asked.Words)
	r.t.Logf("%s somebody may go after %s", clock(), time.Since(begun).Round(time.Second))
}

// RequireNobody asks for so long, and nobody may go. It returns all reasons.
func (r *Rollcall) RequireNobody(span time.Duration) string {
	r.t.Helper()
	asked := r.AskUntil(span, nil)
	require.Empty(r.t, asked.Wrong, "somebody may go")
	r.t.Log(asked)
	return asked.Words
}
