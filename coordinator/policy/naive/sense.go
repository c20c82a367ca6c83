package naive

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "What makes no sense".

// makesNoSense reports whether something violates the table.
func (w *world) makesNoSense() bool {
	return w.twoAreOne() || w.oddSnapshot() || w.oddChoice() || w.oddSpec() || w.oddEngine() || w.oddOverride() ||
		slices.ContainsFunc(w.s.Pools, w.oddPool) ||
		slices.ContainsFunc(w.s.Pods, w.oddPod) ||
		slices.ContainsFunc(w.s.Groups, oddGroup)
}

// twoAreOne reports whether two things claim to be the same one. A pod without a name may be any.
func (w *world) twoAreOne() bool {
	seen := map[string]bool{}
	twice := func(kind, name string) bool {
		key := kind + "\x00" + name
		again := seen[key]
		seen[key] = true
		return again
	}
	for _, c := range w.s.Cluster.Status.Claims {
		if twice("claim", c.Pod) {
			return true
		}
	}
	for _, p := range w.s.Pools {
		if twice("pool", p.Name) {
			return true
		}
	}
	for _, p := range w.s.Pods {
		if p.Name == "" || twice("pod", p.Name) || p.UID != "" && twice("uid", p.UID) ||
			twice("place", fmt.Sprintf("%d of %s", p.Ordinal, p.Pool)) {
			return true
		}
	}
	for _, n := range w.s.Nodes {
		if twice("node", n.Name) {
			return true
		}
	}
	for _, g := range w.s.Groups {
		if twice("group", g.ID) {
			return true
		}
		for _, m := range g.Members {
			if m.ID != "" && twice("member of "+g.ID, m.ID) {
				return true
			}
		}
	}
	return false
}

func (w *world) oddSnapshot() bool {
	return w.s.Version != 1 || w.s.Now.IsZero() || len(w.s.Pods) > 0 && len(w.s.Pools) == 0 ||
		slices.ContainsFunc(w.s.Cluster.Status.Claims, func(c model.Claim) bool { return c.Pod == "" })
}

// among reports whether a value is one of the choices.
func among[T comparable](value T, choices ...T) bool { return slices.Contains(choices, value) }

func (w *world) oddChoice() bool {
	s := w.spec
	u, p, d, r := s.Update, s.Policy, s.Drain, s.Replacement
	wanted := among(s.Engine, append(model.Engines(), "")...) &&
		among(s.Connection.Scheme, "", "http", "https") &&
		among(s.Guard, model.GuardEnforce, model.GuardAudit, model.GuardOff) &&
		among(u.Mode, model.ModeAuto, model.ModeObserve) && among(u.Method, model.MethodEvict, model.MethodDelete) &&
		among(u.RollingUpdate, model.RollingUpdateByGuard, model.RollingUpdateByPartition) &&
		among(u.Schedule, model.Ordered, model.Fast) && among(u.Adopt, model.AdoptAsk, model.AdoptAllow) &&
		among(p.Unit, model.UnitPod, model.UnitZone, model.UnitAll) &&
		among(p.Health, model.LeastGreen, model.LeastRecoverable, model.LeastAny) &&
		among(p.Unprotected, model.PermissionAllow, model.PermissionHold) && among(p.Downgrade, model.PermissionAllow, model.PermissionHold) &&
		among(d.Data.Restart, model.DataKeep, model.DataLose) && among(d.Data.NodeDrain, model.DataKeep, model.DataLose) &&
		among(d.OnTimeout, model.TimeoutHold, model.TimeoutProceed) &&
		among(r.UpdateStrategy, model.UpdateDelete, model.UpdateReplaceTransactionSystem, model.UpdateReplace) &&
		among(w.s.Health.Verdict, "", model.VerdictGreen, model.VerdictRecoverable, model.VerdictYellow, model.VerdictRed, model.VerdictUnknown)
	return !wanted || slices.ContainsFunc(w.s.Cluster.Status.Claims, oddClaim) ||
		slices.ContainsFunc(w.s.Cluster.Status.Approvals, func(a model.Approval) bool {
			return !among(a.What, model.ApprovedCanary, model.ApprovedLeader, model.ApprovedAdopt, model.ApprovedOutage)
		})
}

func oddClaim(c model.Claim) bool {
	return !among(c.Phase, "", model.PhaseClaimed, model.PhaseDraining, model.PhaseDrained, model.PhaseEmptied,
		model.PhaseOpened, model.PhaseGone, model.PhaseRejoined, model.PhaseRestoring, model.PhaseSettling) ||
		!among(c.Action, "", model.ActionRestart, model.ActionHandoff, model.ActionEvacuate, model.ActionRemove, model.ActionReplace,
			model.ActionRestore, model.ActionLowerPartition) ||
		!among(c.Prepare, "", model.PrepareNone, model.PrepareHandoff, model.PrepareEvacuate) ||
		!among(c.Reason, "", model.ReasonOutdated, model.ReasonNeverStarted, model.ReasonFailed,
			model.ReasonRestartRequested, model.ReasonNodeDrain, model.ReasonScaleDown, model.ReasonReplacement,
			model.ReasonAdopt)
}

// oddQuantity reports whether a quantity is neither a whole number of at least 1, nor a percentage
// from 1% to 1000000%.
func oddQuantity(q *model.IntOrPercent) bool {
	if q == nil {
		return false
	}
	_, err := q.Resolve(1)
	return err != nil
}

func within(n, least, most int64) bool { return n >= least && n <= most }

func (w *world) oddSpec() bool {
	u, p, d, r := w.spec.Update, w.spec.Policy, w.spec.Drain, w.spec.Replacement
	for _, n := range []int64{
		p.StartSeconds, p.ProgressSeconds, d.TimeoutSeconds, d.EvacuateTimeoutSeconds,
		cmp.Or(w.spec.Connection.MaxLagSeconds, 10),
		r.FailureDetectionSeconds, r.TaintReplacementSeconds,
	} {
		if !within(n, 1, tenYears) {
			return true
		}
	}
	keys := map[string]bool{}
	for _, t := range r.Taints {
		if t.Key == "" || keys[t.Key] || t.DurationSeconds != nil && *t.DurationSeconds < 0 {
			return true
		}
		keys[t.Key] = true
	}
	return oddQuantity(p.MaxUnavailable) || oddQuantity(p.MaxShardUnavailable) || oddQuantity(p.MaxZonesUnavailable) ||
		!within(p.SoakSeconds, 0, tenYears) || !within(u.Canary.SoakSeconds, 0, tenYears) ||
		u.Canary.Pods < 0 || p.MaxFailed < 1 || *r.MaxConcurrentFailed < 0 ||
		r.MaxConcurrentMisconfigured != nil && *r.MaxConcurrentMisconfigured < 1 ||
		slices.ContainsFunc(u.Windows, oddWindow) || oddSchedule(u.RestartSchedule) || oddFailover(w.spec.Connection.Failover)
}

func oddWindow(window model.Window) bool {
	d, err := time.ParseDuration(window.Duration)
	return window.Schedule == "" || err != nil || d <= 0
}

var oneSchedule = regexp.MustCompile(`^((CRON_)?TZ=\S+ +)?(@\S.*|\S+ +\S+ +\S+ +\S+ +\S+)$`)

func oddSchedule(schedule string) bool { return schedule != "" && !oneSchedule.MatchString(schedule) }

// oddFailover reports whether failover is neither External nor an http(s) URL without user.
func oddFailover(failover string) bool {
	if failover == "" || failover == model.FailoverExternal {
		return false
	}
	u, err := url.Parse(failover)
	return err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil
}

func oddVersion(text string) bool {
	_, ok := parse(text)
	return text != "" && !ok
}

func (w *world) oddEngine() bool {
	e, f := w.s.Cluster.Engine, w.s.Fleet
	return !(e.SettleSeconds >= 0 && e.SettleSeconds <= tenYears) || e.MaxMajorStep < 0 ||
		f.Restarts < 0 || f.Max < 0 || oddVersion(e.MinSourceVersion)
}

// oddOverride reports whether an override violates the table: it needs a rule that exists and can
// be overridden, and no "*" where that is void (both only until it expires); pods; a reason;
// expires.
func (w *world) oddOverride() bool {
	return slices.ContainsFunc(w.spec.Overrides, func(o model.Override) bool {
		if len(o.Pods) == 0 || o.Reason == "" || o.Expires.IsZero() {
			return true
		}
		void := slices.Contains(o.Pods, "*") &&
			among(o.Rule, model.RuleSoleCopy, model.RuleQuorum, model.RuleAcks, model.RuleNodeGone)
		return w.now().Before(o.Expires.Time) && (void || !overridable(o.Rule))
	})
}

func overridable(name model.Rule) bool {
	return slices.ContainsFunc(rules(), func(r rule) bool { return r.name == name }) &&
		!among(name, model.RuleBadInput, model.RuleClaimed, model.RuleTerminating)
}

func (w *world) oddPool(p model.Pool) bool {
	negative := func(n *int32) bool { return n != nil && *n < 0 }
	return p.Name == "" || !within(int64(p.Replicas), 0, 100_000) || !within(int64(p.Start), 0, 1_000_000) ||
		p.Partition < 0 || negative(p.Ordered) || negative(p.ScalingTo) || oddVersion(p.Version) ||
		oddVersion(p.RunningVersion) || p.Refused != "" ||
		!among(p.Management, "", model.ManagementParallel, model.ManagementOrderedReady) ||
		!among(p.Strategy, "", model.StrategyOnDelete, model.StrategyRollingUpdate) ||
		!among(p.Operation, model.OperationNone, model.OperationScaleDown, model.OperationVolume, model.OperationRemoval) ||
		rolling(&p) && !w.byPartition(&p) && !p.Force && !w.guardsInTime()
}

// guardsInTime reports whether guard is Enforce and, once the database is initialized,
// guardEnforcing is set.
func (w *world) guardsInTime() bool {
	return w.spec.Guard == model.GuardEnforce &&
		(w.s.Cluster.GuardEnforcing || !w.s.Cluster.Status.Initialized)
}

func (w *world) oddPod(p model.Pod) bool {
	odd := !slices.ContainsFunc(w.s.Pools, func(pool model.Pool) bool { return pool.Name == p.Pool }) ||
		p.Name != fmt.Sprintf("%s-%d", p.Pool, p.Ordinal) || !within(int64(p.Ordinal), 0, 2_000_000) ||
		!(p.EstimateSeconds >= 0 && p.EstimateSeconds <= tenYears) || slices.Contains(p.MustReplace, "") ||
		!among(p.Phase, model.PodPhaseMissing, model.PodPhasePending, model.PodPhaseNotStarted, model.PodPhaseStarted, model.PodPhaseReady,
			model.PodPhaseTerminating, model.PodPhaseFailed) ||
		!among(p.Guard, "", model.GuardClosed, model.GuardOpen, model.GuardNone) ||
		!among(p.Refused, "", model.RuleForeignBudget, model.RuleConflict, model.RuleVeto) ||
		slices.ContainsFunc(p.Conditions, func(c model.PodCondition) bool { return c.Type == "" || c.Since.IsZero() })
	r := p.Report
	return odd || r != nil && (!(r.AgeSeconds >= 0) || !(r.NotLiveSeconds >= 0) ||
		!among(r.Member, "", model.MembershipLive, model.MembershipNotLive, model.MembershipUnknown) ||
		!among(r.Drain, "", model.DrainNone, model.DrainRunning, model.DrainDone, model.DrainRefused))
}

func oddGroup(g model.Group) bool {
	if g.ID == "" || g.MinAvailable == nil && g.Kind != model.GroupShard || g.MinAvailable != nil && *g.MinAvailable < 0 ||
		!among(g.Kind, model.GroupShard, model.GroupQuorum, model.GroupAcks, model.GroupRole) {
		return true
	}
	return slices.ContainsFunc(g.Members, func(m model.Member) bool {
		return m.State != "" &&
			!among(m.State, model.MemberActive, model.MemberRecovering, model.MemberMoving, model.MemberDown, model.MemberUnknown)
	})
}
