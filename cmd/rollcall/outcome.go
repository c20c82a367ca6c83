package main

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// outcome is how a rollout ended.
type outcome int

const (
	outcomeOpen outcome = iota // it has not
	outcomeDone
	outcomeFailed
	outcomeStalled
)

// String continues "the rollout has".
func (o outcome) String() string {
	switch o {
	case outcomeOpen:
		return "not ended"
	case outcomeDone:
		return "finished"
	case outcomeFailed:
		return "failed"
	case outcomeStalled:
		return "stalled"
	}
	return fmt.Sprintf("outcome(%d)", int(o))
}

func (o outcome) status() int {
	switch o {
	case outcomeDone:
		return exitDone
	case outcomeStalled:
		return exitStalled
	}
	return exitFailed
}

// final are the rules that only a person's change can end: the rollout as it
// is has failed.
var final = []model.Rule{model.LineStopped, model.VersionRefused, model.BadInput}

// outcomeOf is how a cluster's rollout ended. What has failed may also be
// stalled, and failed says more. While something may still go it is not over:
// that may be the correction.
func outcomeOf(c *rollcallv1.Cluster) outcome {
	for _, h := range c.GetPlan().GetHolds() {
		for _, rule := range final {
			if h.GetRule() == string(rule) && len(c.GetPlan().GetSteps()) == 0 {
				return outcomeFailed
			}
		}
	}
	switch model.ClusterPhase(c.GetPhase()) {
	case model.ClusterDone:
		return outcomeDone
	case model.ClusterStalled:
		return outcomeStalled
	}
	return outcomeOpen
}
