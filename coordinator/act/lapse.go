package act

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A prepare that was acknowledged need not last: somebody else may hand the pod its
// duties again, its agent may have restarted, data may be put back on it. So the agent
// is asked once more with each look at the barrier, and what it says must be so in
// the database then; and nothing that was seen since may contradict it.

const (
	// maxLapses is how often a prepare is repeated that did not last.
	maxLapses = 5
	// confirmFor is how long a look waits for a prepare that is not confirmed at once.
	confirmFor = 5 * time.Second
)

// unprepare notes that the pod is not prepared any more.
func (r *run) unprepare(why string) {
	r.heard.Prepared, r.spared, r.byOthers, r.confirming = false, false, false, time.Time{}
	r.backToBarrier()
	r.problem = "it is not prepared any more: " + why
}

// lapse is unprepare for a prepare that did not last, which must end some time.
func (r *run) lapse(why string) {
	r.unprepare(why)
	r.prepareBegan = time.Time{}
	if r.lapses++; r.lapses > maxLapses {
		r.abandon(fmt.Sprintf("it was prepared %d times, and that never lasted: %s", r.lapses, why), model.Vetoed)
	}
}

// mustLast says whether a claim's pod may go only while its prepare lasts. What was
// overdue goes without, as its spec says, what is broken by now has nothing to
// give, and of a pod that was written down as empty only data matters: it must go in the end,
// whatever is handed to it.
func (a *Actor) mustLast(at Situation, claim model.Claim, r *run) bool {
	switch {
	case !prepares(claim) || r.overdue || r.spared || judgeGoing(at.Snapshot, claim).unasked:
		return false
	case committed(claim):
		if r.restarts {
			return false // it keeps what it has
		}
		pod := podNamed(at.Snapshot, claim.Pod)
		return notEmpty(at.Snapshot, claim, at.Names, pod != nil && a.emptiedByOthers(pod)) != ""
	}
	return true
}

// askAgain has the agent confirm the prepare as of now, or go on with confirming it. A database
// that is merely slow gets some time for that; at once says whether it needed none.
func (a *Actor) askAgain(ctx context.Context, to Target, order Order, undo []byte, anew bool) (progress Progress, atOnce bool, err error) {
	order.Anew = anew
	deadline := time.Now().Add(confirmFor)
	for atOnce = anew; ; atOnce = false {
		progress, err = a.options.Agents.Prepare(ctx, to, order, undo)
		if err != nil || progress.State != model.DrainPreparing || time.Now().After(deadline) {
			return progress, atOnce, err
		}
		order.Anew = false
		select {
		case <-ctx.Done():
			return progress, false, ctx.Err()
		case <-time.After(firstRetry):
		}
	}
}

// stillPrepared has the pod confirm its prepare. It answers what to learn when that does not
// last or is not known yet, else whether the pod and the witnesses must look once more, and the order that was sent.
func (a *Actor) stillPrepared(ctx context.Context, at Situation, claim model.Claim, known run) (lost func(*run), again bool, sent *Order) {
	if !a.mustLast(at, claim, &known) {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	to, order, err := a.address(at, claim)
	var progress Progress
	atOnce := true
	if err == nil {
		progress, atOnce, err = a.askAgain(ctx, to, order, claim.Undo, !known.goesOn(time.Now()))
	}
	if err == nil && progress.State == model.DrainPrepared {
		return nil, !atOnce, &order
	}
	return func(r *run) {
		a.outrun(err)
		r.ordered(order, err)
		switch {
		case err != nil:
			r.backToBarrier()
			r.confirming = time.Time{} // nobody knows what it has looked at when it answers again
			r.failed(fmt.Errorf("ask whether it is still prepared: %w", err))
			r.held(time.Now(), r.problem)
		case progress.State == model.DrainRefused:
			r.abandon("prepare refused: "+progress.Detail, model.Vetoed)
		default:
			r.unconfirmed(progress.Detail, prepareTimeout(at, claim))
		}
	}, false, nil
}

// goesOn: the agent looks whether the pod is still prepared, and was asked a moment ago, so
// that what it says now is no older than a look may be.
func (r *run) goesOn(now time.Time) bool {
	return !r.confirming.IsZero() && now.Sub(r.askedAt) <= observedFor
}

// unconfirmed notes that the agent looks whether the pod is still prepared. That is no word of
// its end, however slow the database is; but a prepare that nobody confirms for as long as one
// may take does not count.
func (r *run) unconfirmed(detail string, limit time.Duration) {
	now := time.Now()
	if r.confirming.IsZero() {
		r.confirming = now
	}
	if limit > 0 && now.Sub(r.confirming) > limit {
		r.lapse(fmt.Sprintf("nobody has confirmed it for %s: %s", limit, detail))
		return
	}
	r.askedAt = now
	r.backToBarrier()
	r.succeeded()
	r.problem, r.retryAt = "its agent looks whether it is still prepared: "+detail, now.Add(firstRetry)
}

// lookAgain compares what is seen of a pod that was looked at with what was seen then.
func (a *Actor) lookAgain(at Situation, claim model.Claim, r *run) {
	if !r.heard.Prepared || !r.heard.Observed || r.heard.Sent || r.giveUp != "" || r.byOthers || !a.mustLast(at, claim, r) {
		return
	}
	if why := drainLost(at.Snapshot, claim); why != "" {
		r.lapse(why)
		return
	}
	if drainAnew(at.Snapshot, claim) {
		r.backToBarrier()
		return
	}
	leads := ledBy(at.Snapshot, claim.Pod)
	if r.led == nil {
		r.led = leads
		return
	}
	for _, group := range at.Snapshot.Groups {
		if leads[group.ID] && !r.led[group.ID] {
			r.lapse("it has been made the leader of " + group.ID)
			return
		}
	}
}

// drainLost says what the pod's own fresh report says of its prepare, if that is not
// that it is there.
func drainLost(s model.Snapshot, claim model.Claim) string {
	r := freshReport(s, claim)
	switch {
	case r == nil || r.Drain == model.DrainPrepared || r.Drain == model.DrainPreparing:
		return ""
	case r.DrainDetail != "":
		return fmt.Sprintf("its agent says %s: %s", orNoDrain(r.Drain), r.DrainDetail)
	default:
		return fmt.Sprintf("its agent says %s", orNoDrain(r.Drain))
	}
}

// drainAnew: the pod's own fresh report says that it is being prepared, so a look is to be
// waited for that began after the one that was confirmed.
func drainAnew(s model.Snapshot, claim model.Claim) bool {
	r := freshReport(s, claim)
	return r != nil && r.Drain == model.DrainPreparing
}

// freshReport is what the claimed pod itself has said last, nil when that is no news.
func freshReport(s model.Snapshot, claim model.Claim) *model.Report {
	pod := podNamed(s, claim.Pod)
	if pod == nil || pod.UID != claim.UID || pod.Report == nil || !pod.Report.Self || !pod.Report.Fresh {
		return nil
	}
	return pod.Report
}

func orNoDrain(d model.DrainState) model.DrainState {
	if d == "" {
		return model.DrainNone
	}
	return d
}

// ledBy are the groups that a pod leads and that another member could lead.
func ledBy(s model.Snapshot, pod string) map[string]bool {
	led := map[string]bool{}
	for _, group := range s.Groups {
		own, others := false, false
		for _, m := range group.Members {
			own = own || m.Pod == pod && m.Leader
			others = others || m.Pod != pod && m.State == model.Active && m.Eligible
		}
		if own && others {
			led[group.ID] = true
		}
	}
	return led
}
