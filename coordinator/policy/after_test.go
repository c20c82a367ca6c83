package policy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// removed are the pods that steps take away; those of an announced shutdown
// are nobody's loss.
func removed(n *naive, steps []Step) (pods []*Pod) {
	for _, step := range steps {
		p := n.find(step.Pod)
		if pool := n.pool(p.Pool); step.Action == Restore || pool.Replicas == 0 && pool.AllowShutdown {
			continue
		}
		pods = append(pods, p)
	}
	return pods
}

// requireSafeAfterwards counts, from the snapshot alone, what is away once all
// steps are taken: pods, zones, ordered pools, the fleet and every group.
// Overrides, outages and force are asked for, so nothing is counted with them.
func requireSafeAfterwards(t testing.TB, s *Snapshot, steps []Step) {
	t.Helper()
	n := newNaive(s)
	forced := slices.ContainsFunc(s.Pools, func(p Pool) bool { return p.Force })
	if n.outage || forced || len(n.sp.Overrides) > 0 {
		return
	}
	away := n.awayNow()
	var charged, names []string // charged: neither away before nor outside of the budget
	restarts := 0
	for _, p := range removed(n, steps) {
		names = append(names, p.Name)
		if n.free(p) {
			continue
		}
		restarts++
		if !slices.Contains(away, p.Name) {
			charged = append(charged, p.Name)
		}
	}
	if len(charged) > 0 {
		require.LessOrEqual(t, len(away)+len(charged), n.limit(), "pods away afterwards: %v and %v", away, charged)
		n.chosen = charged
		if limit := n.budget().Zones.Limit; limit > 0 {
			_, zones := n.zonesNow()
			require.LessOrEqual(t, zones, limit, "zones away afterwards, with %v", charged)
		}
		n.chosen = nil
	}
	if s.Fleet.Max > 0 && restarts > 0 {
		require.LessOrEqual(t, s.Fleet.Restarts+restarts, s.Fleet.Max, "restarts of the fleet")
	}
	for _, p := range removed(n, steps) {
		for _, other := range slices.Concat(away, charged) {
			o := n.find(other)
			if o == nil {
				continue // only a claim speaks of it
			}
			ordered := n.pool(p.Pool).Management == OrderedReady && o.Pool == p.Pool && o != p && o.Name != p.Name
			together := n.unit(o) != "" && n.unit(o) == n.unit(p)
			require.False(t, ordered && !n.isSick(p) && !together, "%s and %s of an ordered pool away at once", p.Name, o.Name)
		}
	}
	for _, g := range s.Groups {
		requireEnough(t, n, g, names)
	}
}

// requireEnough: the group has what it must, or no less than before. Of one
// that cannot be protected at most one pod goes, and others of its domains, while
// all else is there.
func requireEnough(t testing.TB, n *naive, g Group, gone []string) {
	t.Helper()
	before, after, all := n.whole(g, nil), n.whole(g, gone), len(parts(g))
	if before == after {
		return
	}
	most, whose := 0, ""
	for _, name := range gone {
		p := n.find(name)
		if mine := partsOf(g, name); mine > most && n.alive(p) && n.inVain(g, p) {
			most, whose = mine, name
		}
	}
	if most > 0 {
		require.NotEqual(t, HoldAlways, n.sp.Policy.Unprotected, "%s is unprotected", g.ID)
		require.Equal(t, all-most, after, "%s is unprotected, and more of it is away than %s", g.ID, whose)
		return
	}
	require.GreaterOrEqual(t, after, n.needs(g), "%s has too few of its %d", g.ID, all)
	require.Positive(t, after, "%s has no copy left", g.ID)
	if g.Kind == Quorum {
		require.Greater(t, 2*after, all, "%s has no majority", g.ID)
	}
	eligible := func(m Member) bool { return m.Eligible }
	if g.NeedsLeader {
		require.Positive(t, n.left(g, gone, eligible), "%s has nobody left who may lead", g.ID)
	}
}

// TestBudgetsHoldAfterwards: nothing is exceeded once all steps are taken.
func TestBudgetsHoldAfterwards(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, g generator, s Snapshot) {
		if g.broken == "" {
			requireSafeAfterwards(t, &s, Decide(s).Steps)
		}
	})
}

// stages are how far a step can have come when the next decision is made.
var stages = []ClaimPhase{PhaseClaimed, PhaseOpened, PhaseGone}

// carriedOut is the snapshot after some steps were begun: claimed, or removed
// and still terminating, or gone and missed by the database.
func carriedOut(s Snapshot, steps []Step, stage ClaimPhase) Snapshot {
	s = *s.DeepCopy()
	n := newNaive(&s)
	for _, step := range steps {
		p := n.find(step.Pod)
		if step.Action == Restore || p == nil {
			continue
		}
		claim := Claim{
			ID: "now-" + p.Name, Pod: p.Name, UID: p.UID, Action: step.Action, Prepare: step.Prepare, Reason: step.Reason,
			From: p.Revision, To: n.pool(p.Pool).Revision, Zone: n.zone(p), Phase: stage,
		}
		claims := &s.Cluster.Status.Claims
		*claims = slices.DeleteFunc(*claims, func(c Claim) bool { return c.Pod == p.Name })
		*claims = append(*claims, claim)
		s.Fleet.Restarts++
		switch {
		case step.Action == Handoff || step.Action == Evacuate: // the pod stays
		case stage == PhaseOpened:
			p.Phase, p.Since = Terminating, s.Now
		case stage == PhaseGone:
			// The unit is kept, as that of a pool's annotation is.
			*p = Pod{Name: p.Name, Pool: p.Pool, Ordinal: p.Ordinal, Unit: p.Unit, Phase: Missing, Since: s.Now}
			lose(&s, p.Name)
		}
	}
	return s
}

// lose marks what a pod hosted as down.
func lose(s *Snapshot, pod string) {
	for i := range s.Groups {
		for j := range s.Groups[i].Members {
			if m := &s.Groups[i].Members[j]; m.Pod == pod {
				m.State, m.Leader = Down, false
			}
		}
	}
}

// requireContinued decides again after each prefix of the steps: nobody is
// taken twice, what goes then is safe together with what went before, and
// after claims alone the rest of the plan is what it was.
func requireContinued(t testing.TB, s Snapshot, stage ClaimPhase) {
	t.Helper()
	steps := goes(Decide(s))
	for k := range steps {
		next := goes(Decide(carriedOut(s, steps[:k+1], stage)))
		for _, step := range next {
			require.False(t, slices.ContainsFunc(steps[:k+1], func(o Step) bool { return o.Pod == step.Pod }), "%s is taken twice", step.Pod)
		}
		requireSafeAfterwards(t, &s, slices.Concat(steps[:k+1], next))
		if stage == PhaseClaimed && !slices.ContainsFunc(steps[:k+1], leavesForGood) && !slices.ContainsFunc(steps, movesLine) {
			require.Equal(t, podsOf(steps[k+1:]), podsOf(next), "after the claims of %v", podsOf(steps[:k+1]))
		}
	}
}

// leavesForGood: such a pod holds the higher ranks back only once it is away.
func leavesForGood(step Step) bool { return step.Action == Remove || step.Action == Replace }

// movesLine: the next of its pool is asked once such a pod is on its way.
func movesLine(step Step) bool { return step.Action == LowerPartition }

func goes(p Plan) []Step {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(step Step) bool { return step.Action == Restore })
}

func podsOf(steps []Step) []string {
	names := make([]string, 0, len(steps))
	for _, step := range steps {
		names = append(names, step.Pod)
	}
	return names
}

// TestAPlanIsContinued at every stage of every prefix of its steps.
func TestAPlanIsContinued(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, _ generator, s Snapshot) {
		for _, stage := range stages {
			requireContinued(t, s, stage)
		}
	})
}

// FuzzContinue lets the fuzzer choose the snapshot and the stage.
func FuzzContinue(f *testing.F) {
	f.Add(uint64(1), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, stage uint8) {
		requireContinued(t, newGenerator(seed).snapshot(), stages[int(stage)%len(stages)])
	})
}
