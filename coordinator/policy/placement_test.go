package policy

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// placement is a layout of a database, which each seed varies.
type placement struct {
	name, words string
	pods        int
	limit       model.IntOrPercent
	racks       []int // pods in each zone; nil = three zones in turn
	collections []collection
	seconds     func(r *rand.Rand, pod int) float64
}

// collection has so many shards with so many copies each, put on pods by a rule that lists the pods
// of one shard.
type collection struct {
	shards, copies int
	on             func(w *shape, shard, copies int) []int
}

var placements = []placement{
	{name: "zones-12", words: "3 zones, 12 shards of 3, a copy in each zone; all take 60 s",
		pods: 12, limit: model.Percent(25), collections: []collection{{12, 3, acrossZones}}, seconds: sixty},
	{name: "zones-60", words: "3 zones, 60 shards of 3, a copy in each zone; 30 to 90 s",
		pods: 60, limit: model.Percent(25), collections: []collection{{60, 3, acrossZones}}, seconds: between(30, 90)},
	{name: "zones-200", words: "3 zones, 200 shards of 2 and 100 of 3 in different zones; 30 to 90 s",
		pods: 200, limit: model.Percent(25), collections: []collection{{200, 2, acrossZones}, {100, 3, acrossZones}}, seconds: between(30, 90)},
	{name: "dense-45", words: "3 zones, 90 shards of 3, a copy in each zone; 30 to 90 s",
		pods: 45, limit: model.Percent(25), collections: []collection{{90, 3, acrossZones}}, seconds: between(30, 90)},
	{name: "pairs-24", words: "pairs of pods with the same 3 shards of 2; 20 to 60 s",
		pods: 24, limit: model.Percent(50), collections: []collection{{36, 2, inSets}}, seconds: between(20, 60)},
	{name: "trios-30", words: "sets of 3 pods with the same 2 shards of 3; 30 to 90 s",
		pods: 30, limit: model.Percent(25), collections: []collection{{20, 3, inSets}}, seconds: between(30, 90)},
	{name: "ring-40", words: "shard n on pods n, n+1 and n+2; 30 to 90 s",
		pods: 40, limit: model.Percent(25), collections: []collection{{40, 3, inARow}}, seconds: between(30, 90)},
	{name: "random-30", words: "30 shards of 2 anywhere; 20 to 60 s",
		pods: 30, limit: model.Percent(25), collections: []collection{{30, 2, anywhere}}, seconds: between(20, 60)},
	{name: "random-100", words: "100 shards of 3 anywhere; 30 to 90 s",
		pods: 100, limit: model.Percent(20), collections: []collection{{100, 3, anywhere}}, seconds: between(30, 90)},
	{name: "racks-48", words: "racks of 20, 14, 10 and 4 pods, 48 shards of 2 on different racks; 30 to 90 s",
		pods: 48, limit: model.Percent(25), racks: []int{20, 14, 10, 4}, collections: []collection{{48, 2, acrossZones}}, seconds: between(30, 90)},
	{name: "mixed-80", words: "5 collections: 16 shards of 1, 40 of 2 and 20 of 3 anywhere, 20 of 3 and 8 of 4 in different zones; 20 to 120 s",
		pods: 80, limit: model.Percent(20), collections: []collection{
			{16, 1, anywhere}, {40, 2, anywhere}, {20, 3, anywhere}, {20, 3, acrossZones}, {8, 4, acrossZones},
		}, seconds: between(20, 120)},
	{name: "heavy-50", words: "50 shards of 2 anywhere; one pod in ten takes 240 s, the others 40 s",
		pods: 50, limit: model.Percent(20), collections: []collection{{50, 2, anywhere}}, seconds: someSlow},
}

func sixty(*rand.Rand, int) float64 { return 60 }

func between(least, most float64) func(*rand.Rand, int) float64 {
	return func(r *rand.Rand, _ int) float64 { return least + r.Float64()*(most-least) }
}

func someSlow(_ *rand.Rand, pod int) float64 {
	if pod%10 == 3 {
		return 240
	}
	return 40
}

// shape is a placement with its random numbers.
type shape struct {
	*rand.Rand
	zones [][]int // pods by zone
	pods  int
}

// acrossZones puts the copies into different zones, beginning with another zone for each shard, and
// begins again if there are more copies than zones.
func acrossZones(w *shape, shard, copies int) []int {
	var on []int
	for c := range copies {
		zone := w.zones[(shard+c)%len(w.zones)]
		at := zone[w.IntN(len(zone))]
		for contains(on, at) {
			at = zone[w.IntN(len(zone))]
		}
		on = append(on, at)
	}
	return on
}

func contains(list []int, n int) bool {
	for _, have := range list {
		if have == n {
			return true
		}
	}
	return false
}

func anywhere(w *shape, _, copies int) []int { return w.Perm(w.pods)[:copies] }

// inSets puts shards on fixed sets of pods.
func inSets(w *shape, shard, copies int) []int {
	set := shard % (w.pods / copies)
	on := make([]int, copies)
	for c := range on {
		on[c] = set*copies + (c+shard)%copies
	}
	return on
}

func inARow(w *shape, shard, copies int) []int {
	on := make([]int, copies)
	for c := range on {
		on[c] = (shard + c) % w.pods
	}
	return on
}

// snapshot returns the placement as one seed makes it, and how long each pod really takes, which is
// up to 30 % off its estimate.
func (p placement) snapshot(seed uint64) (model.Snapshot, []float64) {
	w := &shape{Rand: rand.New(rand.NewPCG(seed, uint64(len(p.name)))), pods: p.pods}
	s := defaultSnapshot()
	s.Now = model.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	s.Cluster.Namespace, s.Cluster.Name = "prod", p.name
	s.Cluster.Spec.Policy.MaxUnavailable = &p.limit
	s.Pools = []model.Pool{{Name: "p", Replicas: int32(p.pods), Revision: "v2", Observed: true, Management: model.ManagementParallel, Strategy: model.StrategyOnDelete}}
	truth := make([]float64, p.pods)
	w.zones = make([][]int, max(len(p.racks), 3))
	if p.racks != nil {
		w.zones = w.zones[:len(p.racks)]
	}
	for i := range p.pods {
		zone := i % len(w.zones)
		if p.racks != nil {
			for zone = 0; len(w.zones[zone]) == p.racks[zone]; zone++ {
			}
		}
		w.zones[zone] = append(w.zones[zone], i)
		pod := defaultPod()
		pod.Name, pod.UID, pod.Pool, pod.Ordinal, pod.Revision = fmt.Sprintf("p-%d", i), fmt.Sprintf("u%d", i), "p", int32(i), "v1"
		pod.Zone, pod.EstimateSeconds = fmt.Sprintf("z%d", zone), p.seconds(w.Rand, i)
		truth[i] = pod.EstimateSeconds * (0.7 + 0.6*w.Float64())
		report := defaultReport()
		report.UID = pod.UID
		pod.Report = &report
		s.Pods = append(s.Pods, pod)
	}
	for c, collection := range p.collections {
		for shard := range collection.shards {
			g := defaultGroup()
			g.ID = fmt.Sprintf("c%d/s%03d", c, shard)
			for copy, pod := range collection.on(w, shard, collection.copies) {
				m := defaultMember()
				m.ID, m.Pod, m.Leader = fmt.Sprintf("r%d", copy), s.Pods[pod].Name, copy == 0
				g.Members = append(g.Members, m)
			}
			s.Groups = append(s.Groups, g)
		}
	}
	return s, truth
}
