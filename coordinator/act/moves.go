package act

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// order is what the agent of a claimed pod is asked for now.
func (a *Actor) order(at Situation, claim model.Claim) Order {
	order := Order{
		Claim: claim.ID, Epoch: a.options.Epoch, Prepare: claim.Prepare,
		Eligible: policy.Successors(at.Snapshot, claim.Pod), NotAfter: time.Now().Add(writeAhead),
	}
	if record := sharedBy(&at.Cluster.Status, claim.ID); record != nil {
		order.Shared = Shared{Knob: record.Knob, Undo: record.Undo}
	}
	return order
}

func (a *Actor) ask(ctx context.Context, at Situation, claim model.Claim) func(*run) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var undo []byte
	var shared Shared
	to, order, err := a.address(at, claim)
	if err == nil {
		undo, shared, err = a.options.Agents.Plan(ctx, to, order)
	}
	var held *OwnAgentOnlyError
	return func(r *run) {
		a.outrun(err)
		switch {
		case errors.As(err, &held):
			r.abandon(held.Why, model.Vetoed)
			return
		case err != nil:
			r.failed(fmt.Errorf("ask for the prepare: %w", err))
			return
		}
		r.succeeded()
		r.heard.Asked, r.heard.Undo, r.heard.Shared = true, undo, shared
	}
}

func (a *Actor) apply(ctx context.Context, at Situation, claim model.Claim) func(*run) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began := time.Now()
	var progress Progress
	to, order, err := a.address(at, claim)
	if err == nil {
		progress, err = a.options.Agents.Prepare(ctx, to, order, claim.Undo)
	}
	return func(r *run) {
		a.outrun(err)
		r.ordered(order, err)
		if r.prepareBegan.IsZero() {
			r.prepareBegan = began
		}
		switch {
		case err != nil:
			r.failed(fmt.Errorf("prepare: %w", err))
		case progress.State == model.DrainPrepared:
			r.succeeded()
			r.heard.Prepared, r.byOthers = true, order.For != Subject{}
			r.backToBarrier()
			a.options.Metrics.prepare.Observe(time.Since(r.prepareBegan).Seconds())
		case progress.State == model.DrainRefused:
			r.abandon("prepare refused: "+progress.Detail, model.Vetoed)
		default:
			r.succeeded()
			r.problem = progress.Detail
			wait := min(firstRetry+time.Since(r.prepareBegan)/10, pollEvery)
			r.retryAt = time.Now().Add(wait)
		}
	}
}

// observe has the pod and the witnesses look anew, and the pod confirm its prepare.
// The snapshot of the next pass contains what they saw, and is decided on again.
func (a *Actor) observe(ctx context.Context, at Situation, claim model.Claim, known run) func(*run) {
	going := claim
	if known.restarts {
		going = asRestart(claim) // nobody need call it empty
	}
	b := barrierOf(at.Snapshot, going)
	var sent *Order
	var what string
	var missing bool
	goesOn := known.goesOn(time.Now()) // then all look when it is confirmed
	if !goesOn {
		what, missing = a.lookAnew(ctx, b)
	}
	if !missing {
		var lost func(*run)
		var again bool
		if lost, again, sent = a.stillPrepared(ctx, at, claim, known); lost != nil {
			return lost
		}
		if again || goesOn { // what they saw may be older than what was done since
			what, missing = a.lookAnew(ctx, b)
		}
	}
	return func(r *run) {
		if sent != nil {
			r.ordered(*sent, nil)
		}
		if missing {
			r.backToBarrier()
			r.failed(errors.New(what))
			r.held(time.Now(), what)
			return
		}
		r.succeeded()
		r.heard.Observed, r.observedAt, r.led, r.confirming = true, time.Now(), nil, time.Time{}
	}
}

// lookAnew has all look anew whom the barrier asks, and answers who is missing.
func (a *Actor) lookAnew(ctx context.Context, b barrier) (what string, missing bool) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return b.missing(a.hear(ctx, b))
}

// outrun: an agent has heard of a higher epoch, so this one is over.
func (a *Actor) outrun(err error) {
	if errors.Is(err, ErrStaleEpoch) {
		a.depose()
	}
}

// stragglers is how long witnesses may still answer once enough have spoken.
const stragglers = 300 * time.Millisecond

// hear asks all at once. It waits for everybody for a short time and no longer
// than it takes for the barrier to be complete after that.
func (a *Actor) hear(ctx context.Context, b barrier) map[string]bool {
	targets := b.witnesses
	if b.own != nil {
		targets = append([]Target{*b.own}, targets...)
	}
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	answers := make(chan string, len(targets))
	slots := make(chan struct{}, 16)
	for _, target := range targets {
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := a.options.Agents.Fresh(ctx, target); err != nil {
				answers <- ""
				return
			}
			answers <- target.Pod
		})
	}
	spoke := map[string]bool{}
	enough := time.NewTimer(stragglers)
	defer enough.Stop()
	late := false
	for heard := 0; heard < len(targets); {
		if _, missing := b.missing(spoke); late && !missing {
			break
		}
		select {
		case pod := <-answers:
			heard++
			if pod != "" {
				spoke[pod] = true
			}
		case <-enough.C:
			late = true
		}
	}
	return spoke
}

// open reads the pod and, live, the DatabaseCluster, and opens the guard; or, in
// a pool whose controller would not wait for more, only notes the claim on the
// pod. Each write depends on what was read just before it.
func (a *Actor) open(ctx context.Context, at Situation, claim model.Claim) func(*run) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	var opened Seen
	var err error
	if forced(at.Snapshot, claim) {
		opened, err = a.handOver(ctx, at, claim)
	} else {
		opened, err = a.openGuard(ctx, at, claim, !rolls(poolOf(at.Snapshot, claim.Pod)))
	}
	return func(r *run) {
		if err != nil {
			r.heard.Ajar = true // the write may have come through, and only its answer been lost
			a.refused(r, err)
			return
		}
		r.succeeded()
		r.heard.Opened, r.heard.Closed, r.opened = true, false, opened
	}
}

func (a *Actor) openGuard(ctx context.Context, at Situation, claim model.Claim, wide bool) (Seen, error) {
	seen, err := a.pods.read(ctx, claim.Pod, claim.UID)
	if err != nil {
		return Seen{}, err
	}
	if seen.Leaving {
		return Seen{}, errGone
	}
	if err := a.stillOurs(ctx, at, claim); err != nil {
		return Seen{}, err
	}
	if wide && seen.Guard == v1alpha1.GuardClosed && !forced(at.Snapshot, claim) {
		if err := a.stillThere(ctx, at, claim.Pod); err != nil {
			return Seen{}, err
		}
	}
	if !wide {
		return a.pods.note(ctx, seen, claim.ID, a.options.Epoch)
	}
	return a.pods.open(ctx, seen, claim.ID, a.options.Epoch)
}

// let removes the pod as it has been since its guard was opened, or the claim
// noted on it.
func (a *Actor) let(ctx context.Context, at Situation, claim model.Claim, opened Seen) func(*run) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	var drawn *SeenSet
	var err error
	if err = a.stillThere(ctx, at, claim.Pod); err != nil {
		// Nothing is taken away.
	} else if pool := poolOf(at.Snapshot, claim.Pod); rolls(pool) {
		drawn, err = a.release(ctx, at, claim, opened)
	} else {
		err = a.pods.remove(ctx, at.Snapshot.Cluster.Spec.Update.Method, opened)
	}
	return func(r *run) {
		a.drew(drawn)
		if err != nil {
			a.refused(r, err)
			return
		}
		r.succeeded()
		r.sent(time.Now())
	}
}

// refused judges why the pod was not opened or not removed. All but a pod that
// is gone leads back to the barrier: look, decide and read again, never only
// write again.
func (a *Actor) refused(r *run, err error) {
	r.unanswered = r.unanswered || !answered(err)
	switch {
	case errors.Is(err, errGone):
		a.log.Info("somebody else removed the pod", "error", err)
		r.succeeded()
		r.sent(time.Now())
		return
	case errors.Is(err, errDeposed):
		a.depose()
	case errors.Is(err, errConflict):
		r.conflicts++
		if r.conflicts >= maxConflicts {
			r.abandon(fmt.Sprintf("the pod kept changing, %d times in a row", r.conflicts), model.Unstable)
		}
	case errors.Is(err, errBudget):
		r.refusals++
		r.refusedFor(refusalPause, err)
		if r.refusals >= maxRefusals {
			r.abandon(err.Error(), model.ForeignBudget)
		}
	case errors.Is(err, errBehind):
		r.behind(time.Now(), err)
	case errors.Is(err, errChanged), errors.Is(err, errSetChanged):
		// Decide again on what it is now.
	default:
		// Once is nothing, but a right that is missing, or somebody's webhook, refuses for ever.
		r.refusedFor(min(firstRetry<<min(r.rejections, 10), refusalPause), err)
		if r.rejections++; r.rejections >= maxRejections {
			r.abandon(fmt.Sprintf("it could not be removed, %d times in a row: %v", r.rejections, err), model.Vetoed)
		}
	}
	r.backToBarrier()
}

// answered says whether a request has failed for certain: it will not be carried out
// later. A server that is too slow, or that is not heard, says nothing of the kind.
func answered(err error) bool {
	for _, known := range []error{errGone, errConflict, errBudget, errDeposed, errChanged, errSetChanged, errLeft} {
		if errors.Is(err, known) {
			return true
		}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// What reading the DatabaseCluster before going can come to.
var (
	errDeposed = errors.New("the claim is another coordinator's by now")
	errChanged = errors.New("the DatabaseCluster has changed since the decision")
)

// stillOurs asks the API server itself whether the claim stands, in this epoch,
// and whether what was asked of us is what was decided on.
func (a *Actor) stillOurs(ctx context.Context, at Situation, claim model.Claim) error {
	return a.unchanged(ctx, at, func(claims []model.Claim) bool { return holds(claims, claim) })
}

// stillLeads asks whether the DatabaseCluster is still ours, and what it was.
func (a *Actor) stillLeads(ctx context.Context, at Situation) error {
	return a.unchanged(ctx, at, func([]model.Claim) bool { return true })
}

func (a *Actor) unchanged(ctx context.Context, at Situation, ours func([]model.Claim) bool) error {
	live, err := a.options.Clusters.DatabaseClusters(a.options.Namespace).Get(ctx, a.options.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the DatabaseCluster: %w", err)
	}
	if string(live.UID) != a.options.UID || live.Status.Epoch != a.options.Epoch || !ours(live.Status.Claims) {
		return errDeposed
	}
	if live.Generation != at.Cluster.Generation || live.DeletionTimestamp != nil ||
		live.Annotations[v1alpha1.AnnotationPaused] != at.Cluster.Annotations[v1alpha1.AnnotationPaused] {
		return errChanged
	}
	return nil
}

func holds(claims []model.Claim, claim model.Claim) bool {
	for _, c := range claims {
		if c.ID == claim.ID && c.UID == claim.UID && c.Epoch == claim.Epoch {
			return true
		}
	}
	return false
}

// shut closes the guard of a pod that stays, or that nobody has decided on anew,
// and puts the hold line above a pod without one. Only when the answer says that
// the pod is not terminating may the prepare be undone. After a write that was not
// answered it writes even what is shut: that write may be carried out later, and fails
// only on a new resourceVersion.
func (a *Actor) shut(ctx context.Context, at Situation, claim model.Claim, unanswered bool) func(*run) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	var drawn *SeenSet
	seen, err := a.pods.read(ctx, claim.Pod, claim.UID)
	if err == nil && !seen.Leaving && onlyLineKeeps(at.Snapshot, claim) {
		if drawn, err = a.raise(ctx, at, claim, unanswered); err == nil {
			seen, err = a.pods.read(ctx, claim.Pod, claim.UID)
		}
	}
	if err == nil && !seen.Leaving && (unanswered || seen.Claim != "" || seen.Guard == v1alpha1.GuardOpen) {
		seen, err = a.pods.shut(ctx, seen)
	}
	return func(r *run) {
		a.drew(drawn)
		switch {
		case errors.Is(err, errDeposed):
			a.depose()
		case errors.Is(err, errGone), err == nil && seen.Leaving:
			// It goes nevertheless. The cache will show it.
			r.sent(time.Now())
			r.giveUp = ""
		case err != nil:
			r.failed(fmt.Errorf("close the guard: %w", err))
		default:
			r.succeeded()
			r.heard.Closed, r.heard.Opened, r.heard.Ajar, r.unanswered = true, false, false, false
		}
	}
}

// bound limits requests to the API server: in length, and to the leader's term.
func (a *Actor) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	bounded, cancelBound := a.options.Bound(ctx)
	return bounded, func() { cancelBound(); cancel() }
}
