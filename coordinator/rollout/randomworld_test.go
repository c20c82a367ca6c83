package rollout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// randomWorld is a database to which anything may happen, and whose API server and agents may
// answer anything. It only has to lead a coordinator everywhere; it does not have to make sense.
type randomWorld struct {
	*rand.Rand
	now     time.Time
	object  effect.Object
	record  Record
	s       model.Snapshot
	names   map[string]string
	engine  Engine
	budgets map[string]string
	pending []effect.Effect
	uids    int
	ids     int
	// replaces is true if pods are replaced in this world, bare if some have no agent, shares if
	// drains write a setting, writes if one member takes the writes. calm is how rarely something
	// happens.
	replaces, bare, shares, writes bool
	calm                           int
}

func newRandomWorld(r *rand.Rand) *randomWorld {
	now := time.Unix(10_000, 0)
	w := &randomWorld{Rand: r, now: now, s: threePods(now), record: Record{Epoch: 1}, uids: 3}
	w.replaces, w.bare, w.shares, w.calm = w.one(2), w.one(3), w.one(3), 1+r.IntN(12)
	w.writes = w.calm%3 == 0
	w.names = map[string]string{"s-0": "n0", "s-1": "n1", "s-2": "n2"}
	w.engine = Engine{EvacuatesOthers: w.one(2), OwnAgentOnly: w.one(3)}
	spec := &w.s.Cluster.Spec
	if w.one(2) {
		two := model.Count(2)
		spec.Policy.MaxUnavailable, spec.Policy.MaxShardUnavailable = &two, &two
	}
	spec.Drain.TimeoutSeconds, spec.Drain.EvacuateTimeoutSeconds, spec.Policy.StartSeconds = 20, 20, 20
	spec.Drain.OnTimeout = pick(w, model.TimeoutHold, model.TimeoutProceed)
	spec.Update.Adopt = pick(w, model.AdoptAllow, spec.Update.Adopt)
	w.s.Pools[0].Agents = true
	if w.one(2) {
		w.s.Pools[0].Strategy, w.s.Pools[0].Partition = model.StrategyRollingUpdate, pick(w, model.FirstOrdinalNone, 0, 2)
		spec.Update.RollingUpdate = pick(w, model.RollingUpdateByPartition, model.RollingUpdateByGuard)
	}
	if w.replaces {
		for i := range w.s.Pods {
			w.s.Pods[i].MustReplace = []string{"volume"}
		}
	}
	if w.bare {
		spec.Update.Adopt = model.AdoptAllow
		for i := range w.s.Pods[1:] {
			pod := &w.s.Pods[i+1]
			pod.Agent, pod.MustReplace, pod.Since = w.one(3), nil, model.At(now.Add(-time.Hour))
			pod.Report.Self = pod.Agent
		}
	}
	if w.one(4) {
		w.record.PendingRestores = []model.PendingRestore{{Claim: "old", Pod: "s-1", Undo: []byte("x")}}
	}
	if w.one(4) {
		w.record.ClusterSettings = []model.ClusterSetting{{Name: settingName, Undo: []byte(before), Claims: []string{"old"}}}
	}
	return w
}

// one returns true once in n times.
func (w *randomWorld) one(n int) bool { return w.IntN(n) == 0 }

func pick[T any](w *randomWorld, from ...T) T { return from[w.IntN(len(from))] }

func (w *randomWorld) newID() string {
	w.ids++
	return fmt.Sprintf("c%d", w.ids)
}

// facts returns the world as it is now, after something may have happened to it.
func (w *randomWorld) facts() Facts {
	w.now = w.now.Add(pick(w, 10*time.Millisecond, 300*time.Millisecond, time.Second, 3*time.Second, time.Minute))
	w.s.Pods, w.s.Pools = slices.Clone(w.s.Pods), slices.Clone(w.s.Pools)
	for i := range w.s.Pods {
		if w.one(w.calm) {
			w.happenTo(&w.s.Pods[i])
		}
	}
	if w.one(10 * w.calm) {
		w.happen()
	}
	s := w.s
	s.Now = model.At(w.now)
	s.Cluster.Status.Claims = w.record.Claims
	if w.one(20) {
		s.Pools = nil
		s.Pods = nil // not shown
	}
	s.Groups = []model.Group{{ID: "books/1", Kind: model.GroupShard, NeedsLeader: true}}
	leads := w.IntN(3)
	for i, pod := range s.Pods {
		if w.replaces && pod.Report != nil && pod.Report.Drain == model.DrainDone {
			continue // it is empty
		}
		state := model.MemberActive
		if pod.Phase != model.PodPhaseReady {
			state = model.MemberDown
		}
		s.Groups[0].Members = append(s.Groups[0].Members, model.Member{ID: pod.Name, Pod: pod.Name, State: state, Eligible: true, Leader: i == leads})
	}
	if w.writes {
		s.Groups = append(s.Groups, model.Group{ID: model.PrimaryGroup, Kind: model.GroupRole, NeedsLeader: true, Members: s.Groups[0].Members})
		tellRoles(s.Pods, leads)
	}
	versions, labels := map[string]string{}, map[string]string{}
	for i, pod := range s.Pods {
		versions[pod.UID] = pick(w, "1", "100", "1000")
		labels[pod.UID] = []string{"", model.RolePrimary, model.RoleReplica}[(int(w.now.UnixMilli()/10)+i)%3]
	}
	f := Facts{Object: w.object, Record: w.record, Snapshot: s, ResourceVersions: versions, RoleLabels: labels, VolumeTemplates: map[string][]string{"s": {"data"}}, MemberNames: w.names,
		Engine: w.engine, ForeignBudgets: w.budgets, Unlimited: w.one(2), ClaimLimit: w.IntN(4)}
	for _, pool := range s.Pools {
		f.Pools = append(f.Pools, effect.Pool{Name: pool.Name, UID: "set", Generation: int64(w.IntN(9)), CurrentRevision: pick(w, "v1", pool.Revision), Foreign: w.one(2)})
	}
	return f
}

// tellRoles has the pods' agents tell who takes the writes.
func tellRoles(pods []model.Pod, leads int) {
	for i := range pods {
		if r := pods[i].Report; r != nil {
			report := *r
			report.Roles = []string{model.RoleReplica}
			if i == leads {
				report.Roles = []string{model.RolePrimary}
			}
			pods[i].Report = &report
		}
	}
}

// happen changes the desired state.
func (w *randomWorld) happen() {
	spec := &w.s.Cluster.Spec
	switch w.IntN(9) {
	case 0:
		w.object.Paused, w.s.Cluster.Paused = "true", true
	case 1:
		w.object.DeletionTimestamp = w.now
	case 2:
		w.s.Pools[0].Revision = pick(w, "v1", "v2", "v3")
	case 3:
		w.s.Health.Verdict = pick(w, model.VerdictRed, model.VerdictGreen)
	case 4:
		w.budgets = pick(w, map[string]string{"s-0": "theirs"}, nil)
	case 5:
		w.s.Pools[0].Force = !w.s.Pools[0].Force
	case 6:
		w.s.Pools[0].Observed = !w.s.Pools[0].Observed
	case 7:
		spec.Overrides = []model.Override{{Rule: model.RuleNodeGone, Pods: []string{"s-0", "s-1", "s-2"}, Reason: "dead", Expires: model.At(w.now.Add(time.Hour))}}
	default:
		w.object.Paused, w.s.Cluster.Paused, w.object.DeletionTimestamp = "", false, time.Time{}
		w.names = pick(w, nil, w.names, map[string]string{"s-0": "n0", "s-1": "n1", "s-2": "n2"})
	}
}

// happenTo changes a pod. It recovers more often than not.
func (w *randomWorld) happenTo(p *model.Pod) {
	p.Phase = pick(w, model.PodPhaseReady, model.PodPhaseReady, model.PodPhaseReady, model.PodPhaseStarted, model.PodPhasePending, model.PodPhaseFailed, model.PodPhaseTerminating, model.PodPhaseNotStarted)
	p.Guard = pick(w, model.GuardClosed, model.GuardOpen, model.GuardNone)
	p.Since, p.Problem = model.At(w.now.Add(-pick(w, time.Second, time.Hour))), model.ProblemNone
	switch p.Phase {
	case model.PodPhasePending:
		p.Problem = model.ProblemUnschedulable
	case model.PodPhaseFailed:
		p.Problem = model.ProblemCrashLoop
	case model.PodPhaseTerminating:
		p.Problem = pick(w, model.ProblemNone, model.ProblemNodeGone)
	}
	if w.one(8) {
		w.uids++
		p.UID, p.Revision, p.MustReplace = fmt.Sprint(w.uids), pick(w, "v1", w.s.Pools[0].Revision), nil
		p.Agent = !w.bare || w.one(2)
	}
	p.Report = nil
	if p.Phase != model.PodPhasePending && !w.one(10) {
		p.Report = &model.Report{UID: p.UID, Self: p.Agent, Fresh: !w.one(5), Member: pick(w, model.MembershipLive, model.MembershipLive, model.MembershipNotLive), Settled: true,
			Drain: pick(w, model.DrainDone, model.DrainDone, model.DrainRunning, model.DrainNone)}
	}
}

// goOn applies the outcome of a step.
func (w *randomWorld) goOn(d Outcome) {
	w.pending = append(w.pending, d.Effects...)
	if w.one(10) {
		return // somebody else has written the status
	}
	w.record.Claims = slices.Clone(w.record.Claims)
	d.Edits.Apply(&w.record)
}

// results returns the results of most effects that have not ended yet.
func (w *randomWorld) results() []effect.Result {
	var out []effect.Result
	w.pending = slices.DeleteFunc(w.pending, func(e effect.Effect) bool {
		if w.one(5) {
			return false
		}
		out = append(out, w.result(e))
		return true
	})
	return out
}

// fail returns an error, more rarely the calmer the world is.
func (w *randomWorld) fail() error {
	if !w.one(2 + w.calm) {
		return nil
	}
	return pick(w, effect.ErrGone, effect.ErrConflict, effect.ErrBudget, effect.ErrChanged, effect.ErrSetChanged, effect.ErrBehind, effect.ErrNotObserved, effect.ErrVolumeKept, effect.ErrForbidden,
		error(&effect.OwnAgentOnlyError{Why: "it leads"}), errors.New("no route"), errors.New("refused"), pick(w, effect.ErrSuperseded, effect.ErrStaleEpoch, effect.ErrGone, effect.ErrConflict))
}

func (w *randomWorld) progress() effect.Progress {
	return effect.Progress{State: pick(w, model.DrainDone, model.DrainDone, model.DrainRunning, pick(w, model.DrainDone, model.DrainRefused)), Detail: "so"}
}

// result returns a possible result of an effect.
func (w *randomWorld) result(e effect.Effect) effect.Result {
	switch e := e.(type) {
	case effect.PlanDrain:
		res := effect.DrainPlanned{Claim: e.Claim, Undo: []byte("undo"), Err: w.fail()}
		if w.shares {
			res.Setting = effect.ClusterSetting{Name: settingName, Undo: []byte(before)}
		}
		return res
	case effect.Drain:
		e.Order.NotAfter = w.now.Add(effect.WriteAhead)
		return effect.DrainAnswered{Claim: e.Claim, Began: w.now, Order: e.Order, Progress: w.progress(), Err: w.fail()}
	case effect.HandoffOnBehalf:
		return effect.HandedOff{Claim: e.Claim, Began: w.now, By: "s-1", Progress: w.progress(), Err: w.fail()}
	case effect.Observe:
		res := effect.Observed{Claim: e.Claim, Missing: pick(w, "", "", "", "no fresh report")}
		if e.Confirm != nil {
			res.Confirmed, res.Progress, res.Err = &e.Confirm.Order, w.progress(), w.fail()
		}
		return res
	case effect.OpenGuard:
		return effect.GuardOpened{Claim: e.Claim, Pod: w.seen(e.Pod), Err: w.fail(), Unanswered: w.one(3)}
	case effect.Evict:
		res := effect.Evicted{Claim: e.Claim, Err: w.fail(), Unanswered: w.one(3)}
		if e.Lower != nil {
			res.Moved = w.moved(e.Lower.Pool.Name)
		}
		if res.Err == nil {
			w.away(e.Opened.UID)
		}
		return res
	case effect.CloseGuard:
		return effect.GuardClosed{Claim: e.Claim, Pod: w.seen(e.Pod), Err: w.fail()}
	case effect.Restore:
		return effect.Restored{Claim: e.Claim, Answered: !w.one(3), Done: !w.one(3), Err: errors.New("nobody"), Nobody: w.one(2)}
	case effect.ConfirmGone:
		return effect.GoneConfirmed{Claim: e.Claim, Gone: !w.one(3), Why: pick(w, "", "out of sight"), Err: w.fail()}
	case effect.FindSet:
		return effect.SetFound{Claim: e.Claim, Why: pick(w, "", "out of sight"), Err: w.fail()}
	case effect.FindVolumes:
		return effect.VolumesFound{Claim: e.Claim, Volumes: []model.VolumeClaim{{Name: "data-" + e.Pod.Pod, UID: "v" + e.Pod.UID}}, Err: w.fail()}
	case effect.DeleteVolumes:
		return effect.VolumesDeleted{Claim: e.Claim.ID, PodGone: e.PodGone, Err: w.fail(), Unanswered: w.one(3)}
	case effect.AwaitVolumes:
		return effect.VolumesAwaited{Claim: e.Claim, Successor: effect.PodSeen{Name: e.Pod, UID: fmt.Sprint(w.uids), Terminating: w.one(5)}, Inherited: w.one(3), Missing: pick(w, "", "it is not there"), Err: w.fail()}
	case effect.MovePartition:
		return effect.PartitionMoved{Pool: e.Move.Pool.Name, Moved: w.moved(e.Move.Pool.Name), Err: w.fail()}
	case effect.RestoreSetting:
		return effect.SettingRestored{Name: e.Setting.Name, Ended: w.now, Done: w.one(2), Err: w.fail()}
	case effect.RestorePending:
		return effect.PendingRestored{Pending: e.Pending, Done: w.one(2), Err: w.fail()}
	case effect.DeleteByForce:
		return effect.DeletedByForce{Pod: e.Pod, Node: e.Node, Err: w.fail()}
	case effect.LabelRoles:
		res := effect.RolesLabelled{Primary: e.Primary, Fenced: w.one(2), Err: w.fail()}
		res.Unanswered = res.Err != nil && w.one(3)
		for _, role := range e.Roles {
			seen := w.seen(role.Pod)
			seen.Role = role.Role
			res.Pods = append(res.Pods, seen)
		}
		return res
	}
	panic("no such effect: " + e.Kind())
}

func (w *randomWorld) seen(pod effect.Target) effect.PodSeen {
	return effect.PodSeen{Name: pod.Pod, UID: pod.UID, ResourceVersion: "100", Guard: "open", Terminating: w.one(20)}
}

func (w *randomWorld) moved(pool string) *effect.SetSeen {
	return &effect.SetSeen{Name: pool, UID: "set", Generation: 1}
}

// away removes the pod, and recreates it.
func (w *randomWorld) away(uid string) {
	w.s.Pods = slices.Clone(w.s.Pods)
	for i := range w.s.Pods {
		if p := &w.s.Pods[i]; p.UID == uid {
			w.uids++
			p.UID, p.Revision, p.MustReplace, p.Report, p.Phase = fmt.Sprint(w.uids), w.s.Pools[0].Revision, nil, nil, model.PodPhaseStarted
		}
	}
}
