package inspect

import (
	"slices"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// outcome is how a rollout ended; it continues "the rollout has".
type outcome string

const (
	outcomeOpen    outcome = "not ended"
	outcomeDone    outcome = "finished"
	outcomeFailed  outcome = "failed"
	outcomeStalled outcome = "stalled"
)

func (o outcome) status() int {
	return map[outcome]int{outcomeDone: cli.ExitDone, outcomeFailed: cli.ExitFailed, outcomeStalled: cli.ExitStalled}[o]
}

// final are the rules that only a change by a person can resolve: the rollout has failed.
var final = []model.Rule{model.RuleRolloutHalted, model.RuleVersionRefused, model.RuleBadInput}

// outcomeOf is how a cluster's rollout ended. A failed rollout may be stalled, too; failed
// takes precedence. A rollout with steps left is not over: they may be the correction.
func outcomeOf(c *rollcallv1.Cluster) outcome {
	failed := slices.ContainsFunc(c.GetPlan().GetHolds(), func(h *rollcallv1.Hold) bool { return slices.Contains(final, model.Rule(h.GetRule())) })
	switch phase := model.ClusterPhase(c.GetPhase()); {
	case failed && len(c.GetPlan().GetSteps()) == 0:
		return outcomeFailed
	case phase == model.ClusterDone:
		return outcomeDone
	case phase == model.ClusterStalled:
		return outcomeStalled
	}
	return outcomeOpen
}
