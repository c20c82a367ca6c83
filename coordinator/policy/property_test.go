package policy

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var snapshots = flag.Int("snapshots", 2_000, "how many random snapshots the properties are tried on")

// eachSnapshot runs a property on many random snapshots, always the same ones.
func eachSnapshot(t *testing.T, property func(*testing.T, generator, Snapshot)) {
	everySnapshot(t, *snapshots, property)
}

func everySnapshot(t *testing.T, number int, property func(*testing.T, generator, Snapshot)) {
	var last Snapshot
	var seed uint64
	defer func() {
		if t.Failed() {
			data, _ := json.Marshal(last)
			t.Logf("seed %d:\n%s\n%s", seed, data, Decide(last).Text())
		}
	}()
	for seed = range uint64(number) {
		g := newGenerator(seed)
		last = g.snapshot()
		property(t, *g, *last.DeepCopy())
	}
}

func TestPlansAreSound(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, _ generator, s Snapshot) { requireSound(t, s, Decide(s)) })
}

// TestOrderOfTheInputDoesNotMatter: shuffled lists give the same plan.
func TestOrderOfTheInputDoesNotMatter(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, g generator, s Snapshot) {
		require.Equal(t, Decide(s), Decide(g.shuffle(s)))
	})
}

// TestDecideWritesNothing: the snapshot is the same afterwards.
func TestDecideWritesNothing(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, _ generator, s Snapshot) {
		before := s.DeepCopy()
		Decide(s)
		for i := range s.Pods {
			Recheck(s, s.Pods[i].Name)
		}
		for _, c := range s.Cluster.Status.Claims {
			Returned(s, c)
		}
		require.Equal(t, *before, s)
	})
}

// withoutVersions leaves nothing to compare: a version that nobody reports any
// more cannot refuse a rollout.
func withoutVersions(s *Snapshot) {
	for i := range s.Pools {
		s.Pools[i].Version = ""
	}
}

// TestASilentPodDoesNotGo: taking away the report of a pod never lets it go
// when it may not with it.
func TestASilentPodDoesNotGo(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, _ generator, s Snapshot) {
		s.Cluster.Spec.Overrides = nil // one can let it go
		withoutVersions(&s)
		goes := map[string]bool{}
		for _, step := range Decide(s).Steps {
			goes[step.Pod] = true
		}
		for i := range s.Pods {
			report := s.Pods[i].Report
			if report == nil || goes[s.Pods[i].Name] || report.Veto != "" || report.Busy != "" {
				continue // of a pod that never started the database may still say no
			}
			s.Pods[i].Report = nil
			for _, step := range Decide(s).Steps {
				require.NotEqual(t, s.Pods[i].Name, step.Pod)
			}
			s.Pods[i].Report = report
		}
	})
}

// TestOneMoreTroubleLetsNobodyGo: with only one candidate, so that nobody can
// go in its stead, losing any report or any other pod's member adds no step.
func TestOneMoreTroubleLetsNobodyGo(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, g generator, s Snapshot) {
		s.Cluster.Spec.Policy.MaxZonesUnavailable = nil // a zone that has a pod away may have another
		s.Cluster.Spec.Overrides = nil
		withoutVersions(&s)
		order := Decide(s).Order
		if len(order) != 1 || len(Decide(s).Steps) > 0 {
			return
		}
		for i := range s.Pods {
			report := s.Pods[i].Report
			if report == nil || report.Veto != "" || report.Busy != "" || report.Member == NotLive {
				continue // a silent pod says neither no nor that it failed
			}
			s.Pods[i].Report = nil
			require.Empty(t, Decide(s).Steps, "without the report of %s", s.Pods[i].Name)
			s.Pods[i].Report = report
		}
		for i := range s.Groups {
			for j := range s.Groups[i].Members {
				m := &s.Groups[i].Members[j]
				if m.Pod == order[0] || m.Leader {
					continue
				}
				was := m.State
				for _, worse := range []MemberState{Down, UnknownState} {
					m.State = worse
					require.Empty(t, Decide(s).Steps, "with %s of %s %s", m.ID, s.Groups[i].ID, worse)
				}
				m.State = was
			}
		}
	})
}

// TestBudgetsHoldAfterwards recounts, from the snapshot alone, what would be
// away after all steps of the plan.
func TestBudgetsHoldAfterwards(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, _ generator, s Snapshot) {
		if len(s.Cluster.Spec.Overrides) > 0 || s.Cluster.Spec.Policy.Unit == UnitAll {
			return
		}
		p := Decide(s)
		gone := map[string]bool{}
		charged := 0
		x := newIndex(&s, "")
		for _, step := range p.Steps {
			pod := &x.pods[x.byName[step.Pod]]
			if step.Action == Restore || pod.pool.shutdown {
				continue
			}
			gone[step.Pod] = true
			charged += count(!step.OutsideBudget && !pod.away)
		}
		require.LessOrEqual(t, charged, max(0, p.Budget.Pods.Room), "more pods than the limit has room for")
		for i := range s.Groups {
			requireEnough(t, x, &s.Groups[i], gone)
		}
	})
}

// requireEnough recounts one group: it has what it must, or no less than
// before, or nothing could protect it.
func requireEnough(t *testing.T, x *index, g *Group, gone map[string]bool) {
	spec := x.spec.Policy
	before, after, here := 0, 0, map[string]int{}
	for _, m := range g.Members {
		up := m.Pod == ""
		if at, known := x.byName[m.Pod]; known && m.Pod != "" {
			up = x.pods[at].live && !x.pods[at].away
			here[m.Pod]++
		}
		if up && (m.State == Active || m.State == Moving) {
			before++
			after += count(!gone[m.Pod])
		}
	}
	total := len(g.Members)
	least := 0
	switch g.Kind {
	case Shard:
		limit, _ := spec.MaxShardUnavailable.Resolve(total)
		least = max(total-limit, 0)
	case Quorum:
		least = max(int(*g.MinAvailable), total/2+1)
	default:
		least = int(*g.MinAvailable)
	}
	if after >= least || after == before {
		return
	}
	for pod, n := range here {
		if gone[pod] && (n > total-least || n == total) {
			require.Equal(t, Allow, spec.Unprotected)
			require.GreaterOrEqual(t, after, total-n, "%s is unprotected, and more of it went than one pod's", g.ID)
			return
		}
	}
	t.Errorf("%s has %d of %d members afterwards, needs %d", g.ID, after, total, least)
}

// FuzzDecide lets the fuzzer choose seeds; the properties are those above.
func FuzzDecide(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, seed, shuffle uint64) {
		s := newGenerator(seed).snapshot()
		p := Decide(s)
		requireSound(t, s, p)
		g := generator{Rand: rand.New(rand.NewPCG(shuffle, 3))}
		require.Equal(t, p, Decide(g.shuffle(s)))
	})
}

// FuzzDecode reads anything and decides whatever could be read.
func FuzzDecode(f *testing.F) {
	for _, s := range goldenSnapshots(f) {
		data, err := json.Marshal(s)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil {
			return
		}
		p := Decide(s)
		_ = p.Text()
		for i := range s.Pods {
			Recheck(s, s.Pods[i].Name)
			Explain(s, s.Pods[i].Name)
		}
		for _, c := range s.Cluster.Status.Claims {
			Returned(s, c)
		}
		if len(p.Steps) > 0 {
			require.Empty(t, Validate(&s))
		}
	})
}
