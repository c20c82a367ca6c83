package policy

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

var snapshots = flag.Int("snapshots", 2_000, "how many random snapshots the properties are tried on")

// eachSnapshot runs a property on many random snapshots, always the same ones.
func eachSnapshot(t *testing.T, property func(*testing.T, generator, model.Snapshot)) {
	someSnapshots(t, *snapshots, 0, 1, property)
}

// someSnapshots takes every so many of a number of snapshots.
func someSnapshots(t *testing.T, number, from, step int, property func(*testing.T, generator, model.Snapshot)) {
	var last model.Snapshot
	var seed uint64
	defer func() {
		if t.Failed() {
			data, _ := json.Marshal(last)
			t.Logf("seed %d:\n%s\n%s", seed, data, Decide(last).Text())
		}
	}()
	for seed = uint64(from); seed < uint64(number); seed += uint64(step) {
		g := newGenerator(seed)
		last = g.snapshot()
		property(t, *g, *last.DeepCopy())
	}
}

func TestPlansAreSound(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, _ generator, s model.Snapshot) { requireSound(t, s, Decide(s)) })
}

// Shuffled lists give the same plan.
func TestOrderOfTheInputDoesNotMatter(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, g generator, s model.Snapshot) {
		require.Equal(t, Decide(s), Decide(g.shuffle(s)))
	})
}

// The snapshot is unchanged afterwards.
func TestDecideWritesNothing(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, _ generator, s model.Snapshot) {
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

// withoutVersions removes the versions: a version that nobody reports any more cannot refuse a
// rollout.
func withoutVersions(s *model.Snapshot) {
	for i := range s.Pools {
		s.Pools[i].Version = ""
	}
}

// Without its report a pod never goes if it may not go with it.
func TestASilentPodDoesNotGo(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, g generator, s model.Snapshot) {
		if g.broken != "" {
			return // the report may be the one that makes no sense
		}
		s.Cluster.Spec.Overrides = nil // an override can let it go
		withoutVersions(&s)
		goes := map[string]bool{}
		for _, step := range Decide(s).Steps {
			goes[step.Pod] = true
		}
		for i := range s.Pods {
			report := s.Pods[i].Report
			if report == nil || goes[s.Pods[i].Name] || report.Veto != "" || report.Busy != "" {
				continue // the database may still object to a pod that never started
			}
			if report.Member == model.MembershipLive && cluster.Loops(s.Pods[i].Problem) {
				continue // repeated crashes of its container are evidence, unless it is live now
			}
			s.Pods[i].Report = nil
			for _, step := range Decide(s).Steps {
				require.NotEqual(t, s.Pods[i].Name, step.Pod)
			}
			s.Pods[i].Report = report
		}
	})
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

// FuzzDecode reads anything and decides whatever it could read.
func FuzzDecode(f *testing.F) {
	for _, s := range goldenSnapshots(f) {
		data, err := json.Marshal(s)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := model.Decode(data)
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
			require.Empty(t, model.Validate(&s))
		}
	})
}
