package rollout

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Limits on how long things take, and pauses before they are tried again.
const (
	// observationMaxAge is how long an observation of a pod and its witnesses is valid.
	observationMaxAge = 2 * time.Second
	// patience is how long a drained pod may be held before its claim is given up.
	patience = 30 * time.Second
	// maxConflicts in a row, maxRefusals by a foreign budget, or maxRejections for any other reason
	// end a claim.
	maxConflicts  = 5
	maxRefusals   = 6
	maxRejections = 10
	// refusalPause is the time between two evictions that a budget refuses, and at most between two
	// that are refused for other reasons.
	refusalPause = 5 * time.Second
	// behindPause is the time between two looks at a cache that is behind. After maxBehind of them
	// the claim is given up, because others could use what it reserves.
	behindPause = time.Second
	maxBehind   = 30
	// removalTimeout is how long the cache may take to show an accepted removal.
	removalTimeout = 30 * time.Second

	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	pollEvery  = 500 * time.Millisecond
	// catchUpEvery is how often to check whether the cache has caught up.
	catchUpEvery = 10 * time.Millisecond
	// findEvery is how often the API server is asked for a StatefulSet that is not shown, and
	// volumesEvery for new volume claims.
	findEvery    = time.Second
	volumesEvery = time.Second

	// firstBackoff and lastBackoff bound how long a pod is left alone after a claim on it was given
	// up. firstBackoff is meant to equal RetryRefused of agent/drain: when the pod is claimed again,
	// its agent tries a refused drain again, too.
	firstBackoff = 10 * time.Second
	lastBackoff  = 5 * time.Minute

	// maxLapses is how often a drain that did not last is repeated.
	maxLapses = 5
	// handoffTimeout is how long other agents may take to hand over for a pod that has none. Then
	// the pod goes as it is: nothing is lost, and only leaders are elected. If more is at stake, as
	// with a primary that nobody would succeed, it stays until an agent has answered.
	handoffTimeout = 30 * time.Second
	// handoverTime is how long a pod that was asked to hand over is without the label of a primary
	// though it leads. One whose agent waits longer than that, for a long write perhaps, gets it back.
	handoverTime = 5 * time.Second
	// undoSettings is how long after its deletion a DatabaseCluster waits for pods that have gone
	// before their settings are restored anyway.
	undoSettings = 30 * time.Second
	// manyResets of a written partition are not an order of a person: some tool keeps the field at
	// its own value. They are forgotten after a while without one.
	manyResets   = 3
	resetsForget = time.Hour
	// firstResetPause and lastResetPause bound how long we leave the partition as somebody else has
	// set it, from the second time on.
	firstResetPause = 10 * time.Second
	lastResetPause  = 5 * time.Minute
)

// timedOut does not count time in which others were first, or another coordinator led. It uses this
// process's monotonic clock, so that setting the clock does not make a pod go without its drain.
func (a *step) timedOut(claim model.Claim, r *attempt) bool {
	limit := a.drainTimeout(claim)
	began := r.takenAt
	if r.settingBusyUntil.After(began) {
		began = r.settingBusyUntil
	}
	return limit > 0 && a.now.Sub(began) > limit
}

// drainTimeout is how long a claim's drain may take. 0 means for ever.
func (a *step) drainTimeout(claim model.Claim) time.Duration {
	drain := a.Snapshot.Cluster.Spec.Drain
	if claim.Prepare == model.PrepareEvacuate {
		return time.Duration(drain.EvacuateTimeoutSeconds) * time.Second
	}
	return time.Duration(drain.TimeoutSeconds) * time.Second
}

// mayProceed reports whether a pod may go without its drain. A pod whose data would be lost never
// may.
func mayProceed(s model.Snapshot, claim model.Claim) bool {
	return s.Cluster.Spec.Drain.OnTimeout == model.TimeoutProceed &&
		claim.Prepare == model.PrepareHandoff && s.Cluster.Spec.Drain.Data.Restart == model.DataKeep
}
