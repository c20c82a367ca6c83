package policy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/policy/naive"
	"github.com/rollcall-dev/rollcall/test/race"
)

// removed returns the pods that steps remove. Pods of an announced shutdown do not count.
func removed(j *naive.Judge, steps []model.Step) (pods []*model.Pod) {
	for _, step := range steps {
		if p := j.Pod(step.Pod); step.Action != model.ActionRestore && !j.Shutdown(p) {
			pods = append(pods, p)
		}
	}
	return pods
}

// requireSafeAfterwards counts, from the snapshot alone, what is unavailable once all steps are
// taken: pods, zones, ordered pools, the fleet and every group. Overrides, outages and force are
// deliberate, so nothing is counted with them.
func requireSafeAfterwards(t testing.TB, s *model.Snapshot, steps []model.Step) {
	t.Helper()
	j := naive.NewJudge(s)
	forced := slices.ContainsFunc(s.Pools, func(p model.Pool) bool { return p.Force })
	if j.Outage() || forced || len(s.Cluster.Spec.Overrides) > 0 {
		return
	}
	away := j.Away()
	var charged, names []string // charged: neither unavailable before nor outside of the budget
	restarts := 0
	for _, p := range removed(j, steps) {
		names = append(names, p.Name)
		if j.Outside(p) {
			continue
		}
		restarts++
		if !slices.Contains(away, p.Name) {
			charged = append(charged, p.Name)
		}
	}
	if len(charged) > 0 {
		require.LessOrEqual(t, len(away)+len(charged), j.Limit(), "pods unavailable afterwards: %v and %v", away, charged)
		if limit := j.ZoneLimit(); limit > 0 {
			require.LessOrEqual(t, j.ZonesAway(charged), limit, "zones unavailable afterwards, with %v", charged)
		}
	}
	if s.Fleet.Max > 0 && restarts > 0 {
		require.LessOrEqual(t, s.Fleet.Restarts+restarts, s.Fleet.Max, "restarts of the fleet")
	}
	for _, p := range removed(j, steps) {
		for _, other := range slices.Concat(away, charged) {
			o := j.Pod(other)
			if o == nil {
				continue // only a claim names it
			}
			ordered := j.Pool(p).Management == model.ManagementOrderedReady && o.Pool == p.Pool && o != p && !j.Together(o, p)
			stays := o.Phase == model.PodPhaseReady && !slices.Contains(names, o.Name)
			// Two that are unavailable by themselves would wait for each other.
			alone := slices.Contains(away, p.Name) && stays && !j.Claimed(o)
			early := j.BeforeItsTurn(p.Name) && (o.Ordinal > p.Ordinal || stays)
			require.False(t, ordered && !j.Broken(p) && !early && !alone, "%s and %s of an ordered pool unavailable at once", p.Name, o.Name)
		}
	}
	groups := j.GroupsFor(s, names)
	for i := range groups {
		requireEnough(t, s, j, &groups[i], names)
	}
}

// requireEnough requires that the group has what it must have, or no less than before. Of a group
// that cannot be protected at most one pod goes, and others of its domains, while everything else
// is available.
func requireEnough(t testing.TB, s *model.Snapshot, j *naive.Judge, g *model.Group, gone []string) {
	t.Helper()
	_, before := j.Group(g, nil)
	all, after := j.Group(g, gone)
	if before == after {
		return
	}
	most, whose := 0, ""
	for _, name := range gone {
		p := j.Pod(name)
		if own, unprotectable := j.Unprotectable(g, p); own > most && j.Live(p) && unprotectable {
			most, whose = own, name
		}
	}
	if most > 0 {
		require.NotEqual(t, model.PermissionHold, s.Cluster.Spec.Policy.Unprotected, "%s is unprotected", g.ID)
		require.Equal(t, all-most, after, "%s is unprotected, and more of it is unavailable than %s", g.ID, whose)
		return
	}
	require.GreaterOrEqual(t, after, j.Least(g), "%s has too few of its %d", g.ID, all)
	require.Positive(t, after, "%s has no copy left", g.ID)
	if g.Kind == model.GroupQuorum {
		require.Greater(t, 2*after, all, "%s has no majority", g.ID)
	}
	for _, name := range gone {
		if p := j.Pod(name); g.NeedsLeader && j.LedOnlyFrom(g, p) {
			own, _ := j.Unprotectable(g, p)
			require.NotEqual(t, model.PermissionHold, s.Cluster.Spec.Policy.Unprotected, "%s has no other leader", g.ID)
			require.Equal(t, all-own, after, "%s has no other leader, and more of it is unavailable than %s", g.ID, name)
			return
		}
	}
	if g.NeedsLeader {
		require.Positive(t, j.Leaders(g, gone), "%s has nobody left who may lead", g.ID)
	}
}

// Nothing is exceeded once all steps are taken.
func TestBudgetsHoldAfterwards(t *testing.T) {
	policy.EachSnapshot(t, func(t *testing.T, g policy.Generator, s model.Snapshot) {
		if g.Broken() == "" {
			requireSafeAfterwards(t, &s, policy.Decide(s).Steps)
		}
	})
}

// stages are how far a step may have come when the next decision is made.
var stages = []model.ClaimPhase{model.PhaseClaimed, model.PhaseOpened, model.PhaseGone}

// carriedOut returns the snapshot after some steps were begun: claimed, or removed and still
// terminating, or gone and missed by the database.
func carriedOut(s model.Snapshot, steps []model.Step, stage model.ClaimPhase) model.Snapshot {
	s = *s.DeepCopy()
	j := naive.NewJudge(&s)
	for _, step := range steps {
		p := j.Pod(step.Pod)
		if step.Action == model.ActionRestore || p == nil {
			continue
		}
		claim := model.Claim{
			ID: "now-" + p.Name, Pod: p.Name, UID: p.UID, Action: step.Action, Prepare: step.Prepare, Reason: step.Reason,
			From: p.Revision, To: j.Pool(p).Revision, Zone: j.Zone(p), Phase: stage,
		}
		claims := &s.Cluster.Status.Claims
		*claims = slices.DeleteFunc(*claims, func(c model.Claim) bool { return c.Pod == p.Name })
		*claims = append(*claims, claim)
		s.Fleet.Restarts++
		switch {
		case step.Action == model.ActionHandoff || step.Action == model.ActionEvacuate: // the pod stays
		case stage == model.PhaseOpened:
			p.Phase, p.Since = model.PodPhaseTerminating, s.Now
		case stage == model.PhaseGone:
			// The unit is kept, like that of a pool's annotation.
			*p = model.Pod{Name: p.Name, Pool: p.Pool, Ordinal: p.Ordinal, Unit: p.Unit, Phase: model.PodPhaseMissing, Since: s.Now}
			lose(&s, p.Name)
		}
	}
	return s
}

// lose marks what a pod hosted as down.
func lose(s *model.Snapshot, pod string) {
	for i := range s.Groups {
		for j := range s.Groups[i].Members {
			if m := &s.Groups[i].Members[j]; m.Pod == pod {
				m.State, m.Leader = model.MemberDown, false
			}
		}
	}
}

// requireContinued decides again after each prefix of the steps: no pod is taken twice, what goes
// then is safe together with what went before, and after claims alone the rest of the plan is
// unchanged.
func requireContinued(t testing.TB, s model.Snapshot, stage model.ClaimPhase) {
	t.Helper()
	steps := goes(policy.Decide(s))
	for k := range steps {
		then := carriedOut(s, steps[:k+1], stage)
		next := goes(policy.Decide(then))
		for _, step := range next {
			require.False(t, slices.ContainsFunc(steps[:k+1], func(o model.Step) bool { return o.Pod == step.Pod }), "%s is taken twice", step.Pod)
		}
		requireSafeAfterwards(t, &s, slices.Concat(steps[:k+1], next))
		switch begins := naive.NewJudge(&then).Begun() && !naive.NewJudge(&s).Begun(); {
		case stage != model.PhaseClaimed || slices.ContainsFunc(steps, movesPartition):
		case begins: // an outage, in which others follow
			require.Subset(t, podsOf(next), podsOf(steps[k+1:]), "after the claims of %v", podsOf(steps[:k+1]))
		default:
			require.Equal(t, podsOf(steps[k+1:]), podsOf(next), "after the claims of %v", podsOf(steps[:k+1]))
		}
	}
}

// movesPartition reports whether the next pod of its pool is asked about once this one is going.
func movesPartition(step model.Step) bool { return step.Action == model.ActionLowerPartition }

func goes(p model.Plan) []model.Step {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(step model.Step) bool { return step.Action == model.ActionRestore })
}

func podsOf(steps []model.Step) []string {
	names := make([]string, 0, len(steps))
	for _, step := range steps {
		names = append(names, step.Pod)
	}
	return names
}

// TestAPlanIsContinued at every stage of every prefix of its steps.
func TestAPlanIsContinued(t *testing.T) {
	n := 0
	policy.EachSnapshot(t, func(t *testing.T, _ policy.Generator, s model.Snapshot) {
		if n++; !race.Part(n, 5) {
			return
		}
		for _, stage := range stages {
			requireContinued(t, s, stage)
		}
	})
}

// FuzzContinue lets the fuzzer choose the snapshot and the stage.
func FuzzContinue(f *testing.F) {
	f.Add(uint64(1), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, stage uint8) {
		requireContinued(t, policy.NewGenerator(seed).Snapshot(), stages[int(stage)%len(stages)])
	})
}
