package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/coordinator/view"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// The minimum time between two writes of the status depends on what has changed. Claims wait for
// nothing. While claims are open, that a pod has gone is written, and other changes go with the
// next write that must be made anyway. So a restart costs five writes and no more.
const (
	promptly  = time.Second
	soon      = 3 * time.Second
	sometimes = 10 * time.Minute
	// lasting is how long a difference must last: because a claim often follows at once.
	lasting = 500 * time.Millisecond
	// noticedFor is how long a pod's condition must last until it is recorded. Most conditions
	// belong to a restart.
	noticedFor = time.Minute
)

// written is the state of the DatabaseCluster.
type written struct {
	// newest is the object as we wrote or read it last. The cache may be behind.
	newest *v1alpha1.DatabaseCluster
	// statusAt is when the status was written last, and differsSince since when there has been
	// something else to write.
	statusAt     time.Time
	differsSince time.Time
	// freeSince is since when no claim has needed the finalizer that is there.
	freeSince time.Time
}

// write updates the DatabaseCluster, and returns when to try again.
func (s *session) write(ctx context.Context, now time.Time, cluster *v1alpha1.DatabaseCluster, d status.Decision, out rollout.Outcome) time.Time {
	due, err := s.writeStatus(ctx, now, cluster, d, out)
	if err != nil {
		s.log.Warn("status not written", "error", err)
		return sooner(due, now.Add(time.Second))
	}
	return due
}

// writeStatus writes the status by compare-and-swap on the object that was decided on. What
// can wait is written later, at due.
func (s *session) writeStatus(ctx context.Context, now time.Time, cluster *v1alpha1.DatabaseCluster, d status.Decision, out rollout.Outcome) (due time.Time, err error) {
	next := s.statusOf(now, cluster, d, out)
	urgent := out.Edits.Urgent()
	if undoExpired(now, cluster, max(len(d.Snapshot.Pods), s.unshown)) && toUndo(&next) > 0 {
		s.log.Warn("the DatabaseCluster is being deleted, and not all drains could be undone", "claims", len(next.Claims))
		next.Claims, next.ClusterSettings, next.PendingRestores, urgent = nil, nil, nil, true
	}
	finalized, due, err := s.finalize(ctx, now, cluster, toUndo(&next))
	switch {
	case apierrors.IsNotFound(err):
		return due, nil // nothing was left that delayed its deletion
	case err != nil:
		return due, s.reread(ctx, err)
	}
	cluster = finalized
	if !urgent {
		wait, differs := patience(cluster.Status, next)
		if !differs {
			s.differsSince = time.Time{}
			return due, nil
		}
		if s.differsSince.IsZero() {
			s.differsSince = now
		}
		if at := latest(s.statusAt.Add(wait), s.differsSince.Add(lasting)); now.Before(at) {
			return sooner(due, at), nil
		}
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	object := cluster.DeepCopy()
	object.Status = next
	written, err := s.options.Clusters.DatabaseClusters(s.key.Namespace).UpdateStatus(ctx, object, metav1.UpdateOptions{})
	if err != nil {
		return due, s.reread(ctx, err)
	}
	s.newest, s.statusAt, s.differsSince = written, now, time.Time{}
	if urgent {
		s.wake()
	}
	return due, nil
}

// reread reads what somebody else has written, after a conflict. Then everything is decided again
// on that.
func (s *session) reread(ctx context.Context, err error) error {
	if !apierrors.IsConflict(err) {
		return err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	live, err := s.options.Clusters.DatabaseClusters(s.key.Namespace).Get(ctx, s.key.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the DatabaseCluster: %w", err)
	}
	s.newest = live
	s.wake()
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// statusOf is the status after a decision and the edits that follow from it.
func (s *session) statusOf(now time.Time, cluster *v1alpha1.DatabaseCluster, d status.Decision, out rollout.Outcome) v1alpha1.Status {
	next := *cluster.Status.DeepCopy()
	applyEdits(&next, out.Edits)
	next.ObservedGeneration = cluster.Generation
	if next.Phase != d.Phase {
		next.Phase, next.LastTransition = d.Phase, model.At(now)
	}
	next.Pods = d.Pods
	next.Topology = shownTopology(cluster.Status.Topology, d)
	if !d.Idle && d.Pods.Desired > 0 && status.Unhealthy(d) == "" { // what rosters tell is not enough
		d.Snapshot.Cluster.Status.Initialized = true
	}
	if !s.reporting {
		d.Snapshot.Health = healthByRoster(s.options.Agents.State(s.key))
	}
	next.Conditions = status.Conditions(d, cluster.Status.Conditions, cluster.Generation)
	if at := out.LastProgress; !at.IsZero() {
		next.LastProgress = model.At(at)
	}
	if at := s.departures.last(); !at.IsZero() {
		next.LastDeparture = model.At(at)
	}
	next.EstimateSeconds = out.Estimates.Seconds()
	next.PoolEstimateSeconds = out.Estimates.ByPool(d.Snapshot.Pools)
	next.RestartSchedule = followed(cluster, now)
	next.UpdateRevisions = progress.Revisions(d.Snapshot)
	if len(next.UpdateRevisions) == 0 {
		next.UpdateRevisions = nil
	}
	shown := min(len(d.Plan.Holds), v1alpha1.MaxHolds)
	next.Holds = slices.Clone(d.Plan.Holds[:shown])
	for i := range next.Holds {
		h := &next.Holds[i]
		if why := d.Waiting[h.Pod]; why != "" && h.Rule == model.RuleClaimed {
			h.Reason += ": " + why
		}
		h.Group, h.Reason, h.Unblocks = v1alpha1.Cut(h.Group, v1alpha1.MaxGroup), v1alpha1.Cut(h.Reason, v1alpha1.MaxText), v1alpha1.Cut(h.Unblocks, v1alpha1.MaxText)
	}
	next.PodConditions = view.Conditions(d.Snapshot, now.Add(-noticedFor))
	next.MoreHolds = int32(len(d.Plan.Holds) - shown)
	next.LastFinished = finished(cluster.Status.LastFinished, d)
	return next
}

// shownTopology is the topology that was known last: while a primary restarts nobody may know it.
func shownTopology(noted model.Topology, d status.Decision) model.Topology {
	known := d.Snapshot.Cluster.Topology
	if known == model.TopologyUnknown && noted != "" {
		return noted
	}
	return known
}

// followed notes since when the restart schedule is followed; a changed one begins again.
func followed(cluster *v1alpha1.DatabaseCluster, now time.Time) *v1alpha1.RestartSchedule {
	schedule, noted := cluster.Spec.Update.RestartSchedule, cluster.Status.RestartSchedule
	switch {
	case schedule == "":
		return nil
	case noted != nil && noted.Schedule == schedule:
		return noted
	}
	return &v1alpha1.RestartSchedule{Schedule: schedule, Since: model.At(now)}
}

// healthByRoster is the worst verdict that the rosters tell of. It is shown of
// an idle cluster, whose agents' reports are not followed, and permits nothing.
func healthByRoster(state agents.State) model.Health {
	verdicts := map[rollcallv1.Verdict]model.Verdict{
		rollcallv1.Verdict_VERDICT_GREEN: model.VerdictGreen, rollcallv1.Verdict_VERDICT_RECOVERABLE: model.VerdictRecoverable,
		rollcallv1.Verdict_VERDICT_YELLOW: model.VerdictYellow, rollcallv1.Verdict_VERDICT_RED: model.VerdictRed,
	}
	worst := rollcallv1.Verdict_VERDICT_UNSPECIFIED
	for _, roster := range state.Rosters {
		for _, entry := range roster.Roster.GetEntries() {
			gone := entry.GetLiveness() == rollcallv1.Liveness_LIVENESS_DEAD || entry.GetLiveness() == rollcallv1.Liveness_LIVENESS_LEFT
			if verdict := entry.GetHeadline().GetVerdict(); !gone && verdict > worst {
				worst = verdict
			}
		}
	}
	if verdict, ok := verdicts[worst]; ok {
		return model.Health{Verdict: verdict}
	}
	return model.Health{Verdict: model.VerdictUnknown}
}

// finished is what each pool's pods have all run last. Pools end one after the
// other, and each is noted when it does; of one that has not, what was noted stays.
func finished(noted []v1alpha1.FinishedRollout, d status.Decision) []v1alpha1.FinishedRollout {
	var out []v1alpha1.FinishedRollout
	for _, pool := range status.PoolsOf(d) {
		at := slices.IndexFunc(noted, func(f v1alpha1.FinishedRollout) bool { return f.Pool == pool.Name })
		switch {
		case at >= 0 && noted[at].Revision == pool.Revision && (d.Idle || pool.Version == ""):
			out = append(out, noted[at]) // its version was read off the reports of then
		case pool.Complete:
			out = append(out, v1alpha1.FinishedRollout{Pool: pool.Name, Revision: pool.Revision, Version: v1alpha1.Cut(pool.Version, v1alpha1.MaxVersion)})
		case at >= 0:
			out = append(out, noted[at])
		}
	}
	return out
}

// patience says whether two statuses differ in anything that is worth a write, and how long that
// can wait. Texts and times alone are not, but for why a rollout is stalled, which people compare
// with what they are told elsewhere, and for who is unavailable for long.
func patience(old, next v1alpha1.Status) (wait time.Duration, differs bool) {
	switch {
	case old.ObservedGeneration != next.ObservedGeneration,
		(old.RestartSchedule == nil) != (next.RestartSchedule == nil),
		old.RestartSchedule != nil && old.RestartSchedule.Schedule != next.RestartSchedule.Schedule,
		old.Phase != next.Phase,
		old.Topology != next.Topology,
		!maps.Equal(old.UpdateRevisions, next.UpdateRevisions),
		!slices.Equal(old.LastFinished, next.LastFinished),
		old.Pods.Failed != next.Pods.Failed,
		!slices.Equal(standing(old.Holds), standing(next.Holds)),
		conditionDiffers(old, next, v1alpha1.ConditionStalled),
		conditionDiffers(old, next, v1alpha1.ConditionInitialized),
		conditionDiffers(old, next, v1alpha1.ConditionForeignBudget),
		conditionDiffers(old, next, v1alpha1.ConditionPartitionReset),
		conditionDiffers(old, next, v1alpha1.ConditionWithheld),
		conditionOf(old, v1alpha1.ConditionWithheld).Message != conditionOf(next, v1alpha1.ConditionWithheld).Message:
		return promptly, true
	case !slices.EqualFunc(old.PodConditions, next.PodConditions, sameCondition), stallText(old) != stallText(next), unavailableText(old) != unavailableText(next):
		return soon, true
	case old.Pods != next.Pods,
		old.MoreHolds != next.MoreHolds,
		!slices.EqualFunc(old.Holds, next.Holds, sameHold),
		conditionDiffers(old, next, v1alpha1.ConditionReady),
		conditionDiffers(old, next, v1alpha1.ConditionReconciling),
		conditionDiffers(old, next, v1alpha1.ConditionAvailable),
		!slices.EqualFunc(old.Claims, next.Claims, samePhase):
		if len(next.Claims) > 0 && !anyGone(old.Claims, next.Claims) {
			return sometimes, true
		}
		return soon, true
	}
	return 0, false
}

// stallText is why a rollout is stalled, as it is said at any time; empty when it is not.
func stallText(s v1alpha1.Status) string {
	if c := conditionOf(s, v1alpha1.ConditionStalled); c.Status == metav1.ConditionTrue {
		return status.Ageless(c.Message)
	}
	return ""
}

// unavailableText names who has been unavailable for long, which no other field does; empty for
// nobody.
func unavailableText(s v1alpha1.Status) string {
	_, absent, _ := strings.Cut(conditionOf(s, v1alpha1.ConditionAvailable).Message, status.UnavailableTooLong)
	return absent
}

// standing are the rules by which all wait, and that do not pass by themselves.
func standing(holds []model.Hold) []model.Rule {
	var rules []model.Rule
	for _, hold := range holds {
		switch hold.Rule {
		case model.RuleBadInput, model.RuleObserveOnly, model.RulePaused, model.RuleOutsideWindow, model.RuleApproval,
			model.RuleRolloutHalted, model.RuleVersionRefused, model.RuleShutdown, model.RulePrimary:
			if !slices.Contains(rules, hold.Rule) {
				rules = append(rules, hold.Rule)
			}
		}
	}
	slices.Sort(rules)
	return rules
}

// anyGone reports whether a claimed pod has gone, and the status does not say so yet.
func anyGone(old, next []model.Claim) bool {
	went := func(c model.Claim) bool { return progress.Reached(c.Phase, model.PhaseGone) }
	return slices.ContainsFunc(next, func(c model.Claim) bool {
		return went(c) && slices.ContainsFunc(old, func(o model.Claim) bool { return o.ID == c.ID && !went(o) })
	})
}

func sameCondition(a, b v1alpha1.PodCondition) bool {
	return a.Pod == b.Pod && a.Type == b.Type && a.Key == b.Key
}

func sameHold(a, b model.Hold) bool { return a.Pod == b.Pod && a.Rule == b.Rule && a.Group == b.Group }

func samePhase(a, b model.Claim) bool { return a.ID == b.ID && a.Phase == b.Phase }

func conditionDiffers(old, next v1alpha1.Status, kind string) bool {
	a, b := conditionOf(old, kind), conditionOf(next, kind)
	return a.Status != b.Status || a.Reason != b.Reason
}

func conditionOf(s v1alpha1.Status, kind string) v1alpha1.Condition {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1alpha1.Condition{}
}
