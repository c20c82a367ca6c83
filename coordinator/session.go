package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/coordinator/view"
)

const (
	// requestTimeout bounds a request of the session itself.
	requestTimeout = 10 * time.Second
	// beginAgain is the pause before a session that failed is begun anew.
	beginAgain = time.Second
	// maxBreath bounds the pause after a pass, which is twice as long as the pass.
	maxBreath = 50 * time.Millisecond
)

// session leads one DatabaseCluster during one term. Only run's goroutine
// touches it, except for what poke, hint and the refresh of reports do.
type session struct {
	options Options
	fleet   *fleet
	turns   *turns
	key     Key
	term    Term
	log     *slog.Logger
	events  chan struct{}
	// poked: a pass is to be made, whatever has changed.
	poked atomic.Bool
	// basis is what the last pass looked at.
	basis *view.Basis

	uid        string
	actor      *act.Actor
	departures *departures
	progress   progress
	// stalled: the phase of the newest decision.
	stalled bool
	// groups are those of the last look; while no reports are held, those of which not all
	// copies were there.
	groups []model.Group
	// withheld is what the DatabaseCluster names and is not used, and why, once asked.
	withheld string
	told     bool
	// blind: since reports are held, some pod did not run well.
	blind bool
	// noticed are the conditions of pods at the last look.
	noticed []v1alpha1.PodCondition
	// notLive is since when others say of pods without an agent that they are not live.
	notLive map[string]time.Time
	// newest is the object as we wrote or read it last; the cache may be behind.
	newest *v1alpha1.DatabaseCluster
	// statusAt is when the status was written last, and differsSince since when
	// there has been something else to write.
	statusAt     time.Time
	differsSince time.Time
	// freeSince is since when no claim has needed the finalizer that is there.
	freeSince time.Time
	// unshown counts the pods that there are of a DatabaseCluster that is being deleted.
	unshown   int
	estimates estimates
	// unknown notes for how long the cache has not known all about the cluster.
	unknown unseenSince

	// anew: agents are to look, for nothing seen before the take-over is fresh.
	anew           bool
	reporting      bool
	reportingSince time.Time
	workedAt       time.Time
	// lookedAt is when a first look was still needed, and turn whether one is under way.
	lookedAt       time.Time
	turn, turnOver bool
	asked          atomic.Bool
	refreshing     sync.WaitGroup

	// provided notes for what was provisioned, and due when that is to be done
	// again; stale asks for it at once.
	provided string
	due      time.Time
	stale    atomic.Bool
}

func newSession(options Options, fleet *fleet, turns *turns, key Key, term Term) *session {
	return &session{
		options: options, fleet: fleet, turns: turns, key: key, term: term,
		log:    options.Logger.With("cluster", key.String()),
		events: make(chan struct{}, 1),
	}
}

// errOver: there is nothing to lead any more.
var errOver = errors.New("the DatabaseCluster is gone")

// run leads until ctx ends or the DatabaseCluster is gone.
func (s *session) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.lead(ctx)
		if errors.Is(err, errOver) {
			return
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("beginning anew", "error", err)
		}
		if !pause(ctx, beginAgain) {
			return
		}
	}
}

// passes makes a pass after each event and when a clock says so.
func (s *session) passes(ctx context.Context) error {
	for {
		began := time.Now()
		wake, err := s.pass(ctx, began)
		if err != nil {
			return err
		}
		// A cluster that has much to say must not take all of a processor.
		if !pause(ctx, min(2*time.Since(began), maxBreath)) {
			return ctx.Err()
		}
		if !s.wait(ctx, wake) {
			return ctx.Err()
		}
	}
}

// longestWait lies between two passes at most.
const longestWait = time.Minute

// pass looks, decides, shows and acts, once; and answers when to do so again if
// nothing happens before.
func (s *session) pass(ctx context.Context, now time.Time) (wake time.Time, err error) {
	wake = now.Add(longestWait)
	s.basis = nil
	objects, ok := s.options.Cache.Cluster(s.key)
	if !ok {
		if !s.exists() {
			return wake, errOver
		}
		s.turnWhileUnknown(now)
		s.tellUnknown(ctx, now)
		return now.Add(time.Second), nil
	}
	s.unknown = unseenSince{}
	objects.Cluster = s.later(objects.Cluster)
	if string(objects.Cluster.UID) != s.uid {
		return wake, fmt.Errorf("the DatabaseCluster is another one now, with UID %s", objects.Cluster.UID)
	}
	s.showUnlabelled(ctx, now, &objects, &wake)
	s.look(ctx, now, objects, &wake)
	s.fleet.settle(s.key, len(objects.Cluster.Status.Claims), len(objects.Pods)+len(objects.Pools))

	snapshot := s.snapshot(now, objects)
	plan := policy.Decide(snapshot)
	versions := make(map[string]string, len(objects.Pods))
	for i := range objects.Pods {
		versions[string(objects.Pods[i].UID)] = objects.Pods[i].ResourceVersion
	}
	outcome := s.actor.Advance(ctx, act.Situation{Now: now, Cluster: objects.Cluster, Snapshot: snapshot, Versions: versions, Plan: plan,
		Pools: poolsOf(objects.Pools), Volumes: volumesOf(objects.Pools), Names: s.names(now, objects, objects.Cluster.Status.Claims)})
	if outcome.Deposed {
		return wake, errors.New("the epoch is another coordinator's")
	}
	if len(outcome.Edits.Drop) > 0 {
		// What comes after is decided at once and written together with this.
		snapshot.Cluster.Status.Claims = remaining(snapshot.Cluster.Status.Claims, outcome.Edits.Drop)
		outcome.Claims = remaining(outcome.Claims, outcome.Edits.Drop)
		plan = policy.Decide(snapshot)
		s.actor.Claim(act.Situation{Now: now, Cluster: objects.Cluster, Snapshot: snapshot, Plan: plan}, &outcome)
	}
	decision := status.Decision{
		Key: s.key, Snapshot: snapshot, Plan: plan, Claims: outcome.Claims,
		Pods: status.CountPods(snapshot, plan), Phase: plan.Phase, DecidedAt: now,
		Idle: s.idle(now, snapshot), SpecError: errors.Join(view.SpecError(&objects.Cluster.Spec), view.RestartError(objects.Cluster)), Resets: outcome.Resets,
		Guard: s.guarded(), Waiting: outcome.Waits, Settings: outcome.Settings, Withheld: s.refusedNow(objects.Cluster),
		Refused: s.basis.Agents().Refused,
	}
	switch better := s.progress.note(now, decision); {
	case better && decision.Phase == model.ClusterStalled:
		// What began only now was judged by the time of what came before it.
		at := model.At(now)
		snapshot.Cluster.Status.LastProgress = &at
		plan = policy.Decide(snapshot)
		decision.Snapshot, decision.Plan, decision.Phase = snapshot, plan, plan.Phase
	case !better && s.stalled && decision.Phase == model.ClusterRolling:
		// To try again what came to nothing before does not end a stall.
		decision.Phase = model.ClusterStalled
	}
	decision.HeldSince, decision.AwaySince = s.progress.held, s.progress.away
	switch late, next := status.SettingLate(decision); {
	case late && decision.Phase != model.ClusterPaused:
		decision.Phase = model.ClusterStalled
	case !next.IsZero():
		sooner(&wake, next)
	}
	s.stalled = decision.Phase == model.ClusterStalled
	s.options.Board.Publish(decision)
	s.holdReports(now, decision, &wake)
	s.estimates.learn(snapshot, outcome.Away)
	if err := s.write(ctx, now, objects.Cluster, decision, outcome.Edits, &wake); err != nil {
		s.log.Warn("status not written", "error", err)
		sooner(&wake, now.Add(time.Second))
	}

	if !outcome.Wake.IsZero() {
		sooner(&wake, outcome.Wake)
	}
	if until := s.basis.Until(); !until.IsZero() {
		sooner(&wake, until)
	}
	if s.reporting {
		s.wakeForReports(now, &wake)
	}
	if plan.RetryAfterSeconds > 0 {
		sooner(&wake, now.Add(time.Duration(plan.RetryAfterSeconds)*time.Second))
	}
	if len(plan.Order)+len(outcome.Claims) > 0 {
		stall := time.Duration(snapshot.Cluster.Spec.Policy.ProgressSeconds) * time.Second
		if at := s.progress.at.Add(stall); at.After(now) {
			sooner(&wake, at)
		}
	}
	return wake, nil
}

// remaining are the claims that are not dropped.
func remaining(claims []model.Claim, drop []string) []model.Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c model.Claim) bool { return slices.Contains(drop, c.ID) })
}

// look brings up to date whose reports are held and what may be taken for fresh.
func (s *session) look(ctx context.Context, now time.Time, objects kube.ClusterObjects, wake *time.Time) {
	s.blind = s.reporting && (s.blind || anyBlind(objects))
	s.options.Agents.Follow(s.key, followingOf(objects, s.reporting, s.blind))
	if s.turnOver {
		s.turnOver = false
		s.turns.leave(now, s.key)
	}
	if s.departures.look(now, objects.Pods, s.options.Agents.State(s.key)) {
		s.anew = true
	}
	if s.anew && s.reporting {
		s.anew = false
		// Everybody is to look anew; without being asked some would take seconds.
		s.refreshing.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			if err := s.options.Agents.Refresh(ctx, s.key); err != nil {
				s.log.Debug("not all agents looked anew", "error", err)
			}
		})
	}
	s.provide(ctx, now, objects, wake)
}

func (s *session) input(now time.Time, objects kube.ClusterObjects) view.Input {
	facts := engineFacts(objects.Cluster.Spec.Engine)
	known := s.groups
	if !s.reporting {
		known = nil // rosters tell of no group
	}
	return view.Input{
		Now: now, Kube: objects, Agents: s.options.Agents.State(s.key), Idle: !s.reporting,
		Barrier: s.departures.barrier, Known: known, Noticed: s.noticed, NotLive: s.notLive, Engine: policyFacts(facts), MinSource: facts.MinSource, NamedByPod: facts.NamedByPod, Unlisted: facts.Unlisted,
		Fleet: s.fleet.state(), GuardEnforcing: s.guard().Enforcing,
		Replaced: facts.Replaced,
	}
}

// names are only asked for while pods are adopted or replaced.
func (s *session) names(now time.Time, objects kube.ClusterObjects, claims []model.Claim) map[string]string {
	adopting := func(claim model.Claim) bool {
		return claim.Prepare == model.PrepareNone &&
			slices.ContainsFunc(objects.Pods, func(p kube.Pod) bool { return string(p.UID) == claim.UID && !p.Agent })
	}
	replacing := func(claim model.Claim) bool { return claim.Action == model.Replace }
	if !slices.ContainsFunc(claims, adopting) && !slices.ContainsFunc(claims, replacing) {
		return nil
	}
	return view.Names(s.input(now, objects))
}

func (s *session) snapshot(now time.Time, objects kube.ClusterObjects) model.Snapshot {
	in := s.input(now, objects)
	snapshot, basis := view.Look(in)
	s.basis = basis
	s.noticed = view.Conditions(snapshot, now)
	s.notLive = view.NotLive(snapshot, in)
	if s.reporting {
		s.groups = snapshot.Groups
	} else {
		s.groups = unseen(s.groups)
	}
	s.remember(now, &snapshot.Cluster.Status)
	s.actor.Annotate(&snapshot)
	s.refuseEvictions(&snapshot)
	return snapshot
}

// remember puts into a snapshot what is known better here than the object has it.
func (s *session) remember(now time.Time, known *model.Status) {
	known.LastDeparture, known.LastProgress = asOf(now, s.departures.last()), asOf(now, s.progress.at)
}

// asOf is a moment as far before now as it was, however the clock has been set since;
// nil for none.
func asOf(now, at time.Time) *model.Time {
	if at.IsZero() {
		return nil
	}
	t := model.At(now.Add(-now.Sub(at)))
	return &t
}

// later is the newer of the cache's object and our own. API servers count
// resourceVersions up; where one does not, the cache's counts, and a write to
// one that is behind fails.
func (s *session) later(cached *v1alpha1.DatabaseCluster) *v1alpha1.DatabaseCluster {
	if s.newest == nil || cached.UID != s.newest.UID {
		return cached
	}
	c, errC := strconv.ParseUint(cached.ResourceVersion, 10, 64)
	n, errN := strconv.ParseUint(s.newest.ResourceVersion, 10, 64)
	if errC == nil && errN == nil && c < n {
		return s.newest
	}
	return cached
}
