package run

import (
	"math/rand/v2"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Shape is what kind of world it is.
type Shape string

// The shapes. A world has one of the first, and any of the others.
const (
	Sharded          Shape = "shards"
	Members          Shape = "members of Galera"
	Primary          Shape = "one primary"
	Replaced         Shape = "pods are replaced"
	Ephemeral        Shape = "data is gone with its pod"
	ByZone           Shape = "unit Zone"
	AtOnce           Shape = "unit All"
	Many             Shape = "more than five pods"
	Pooled           Shape = "several pools"
	Ranked           Shape = "ranks"
	Started          Shape = "ordinals that begin above 0"
	ZoneLimits       Shape = "a limit of zones"
	Quorums          Shape = "a quorum"
	InOrder          Shape = "OrderedReady"
	AtParallel       Shape = "Parallel"
	OnDelete         Shape = "OnDelete"
	RollsGuard       Shape = "RollingUpdate by guard"
	RollsByPartition Shape = "RollingUpdate by partition"
	Unguarded        Shape = "no guard"
)

// Shapes are all of them.
var Shapes = []Shape{
	Sharded, Primary, Replaced, Ephemeral, ByZone, AtOnce, Many, Pooled, Ranked, Started, ZoneLimits, Quorums, InOrder, AtParallel,
	OnDelete, RollsGuard, RollsByPartition, Unguarded,
}

// draw makes the scenario of a seed.
func draw(seed uint64, o Options) Scenario {
	r := rand.New(rand.NewPCG(seed, 0x776f726c64))
	s := Scenario{
		Seed: seed, MaxPods: 1, MaxShard: 1, Method: model.MethodEvict, Age: aged, Kind: Sharded,
		Lag: time.Duration(5+r.IntN(150)) * time.Millisecond, Trip: time.Duration(1+r.IntN(10)) * time.Millisecond,
	}
	switch r.IntN(20) {
	case 0, 1:
		s.Kind = Primary
	case 2:
		s.Kind = Replaced
	case 3, 4:
		s.Kind = Ephemeral
	case 5, 6:
		s.Kind = ByZone
	case 7:
		s.Kind = AtOnce
	}
	if o.Fixed {
		s.Kind, s.Fixed = Primary, true
	}
	s.drawPools(r)
	s.drawLimits(r)
	s.drawCopies(r)
	s.drawManners(r)
	if o.Fixed {
		s.fix()
	}
	if o.Galera {
		s.galera(r)
	}
	s.Faults = drawFaults(r, o, o.classes())
	if r.IntN(15) == 0 {
		s.Veto = 28 * time.Second
	}
	return s
}

// sizes of a database: mostly few pods, as what goes wrong at all goes wrong among
// few, and the time that a run takes grows with them.
var sizes = []int{2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7, 8, 12}

func (s *Scenario) drawPools(r *rand.Rand) {
	n := sizes[r.IntN(len(sizes))]
	switch s.Kind {
	case Primary:
		n = 2 + r.IntN(4)
	case Replaced:
		n = 3 + r.IntN(3)
	case Ephemeral:
		n = 4 + r.IntN(3)
	case ByZone:
		n = 3 + r.IntN(5)
	}
	s.Replicas = n
	several := 1
	if n >= 3 && s.Kind != Primary && s.Kind != Replaced && r.IntN(3) == 0 {
		several = 2 + r.IntN(2)
	}
	ranked, later := r.IntN(3) > 0, r.IntN(6) == 0
	for i := range several {
		p := Pool{Replicas: n / several}
		if i == 0 {
			p.Replicas += n % several
		}
		if ranked {
			p.Rank = i % 2
		}
		if later {
			p.Start = 1 + r.IntN(3)
		}
		s.Pools = append(s.Pools, p)
	}
}

func (s *Scenario) drawLimits(r *rand.Rand) {
	if r.IntN(2) == 0 {
		s.MaxPods = 2
	}
	if s.Replicas >= 6 && r.IntN(2) == 0 {
		s.MaxPods = 3
	}
	if r.IntN(6) == 0 {
		s.MaxShard = 2
	}
	if r.IntN(4) == 0 {
		s.Soak = 3
	}
	if r.IntN(4) == 0 {
		s.Method = model.MethodDelete
	}
	switch s.Kind {
	case Primary:
		s.MaxShard = 1
	case Replaced:
		s.MaxPods, s.MaxShard = 1, 1
	case AtOnce:
		s.Approved = 5*time.Second + time.Duration(r.Int64N(int64(25*time.Second)))
	case Sharded:
		if r.IntN(5) == 0 {
			s.MaxZones = 1 + r.IntN(2)
		}
	}
}

func (s *Scenario) drawCopies(r *rand.Rand) {
	if s.Kind == Primary {
		s.Acks, s.Shards = max(1, s.Replicas/2), [][]int{r.Perm(s.Replicas)}
		if s.Replicas < 3 {
			s.Acks = 1
		}
		return
	}
	for range 1 + r.IntN(3) {
		copies := min(2+r.IntN(2), s.Replicas)
		switch {
		case s.Kind == Replaced || s.Kind == Ephemeral:
			copies = 2 // there is room for what is moved
		case r.IntN(8) == 0:
			copies = 1
		}
		s.Shards = append(s.Shards, r.Perm(s.Replicas)[:copies])
	}
	if (s.Kind == Sharded || s.Kind == ByZone) && s.Replicas >= 3 && r.IntN(4) == 0 {
		s.Voters = r.Perm(s.Replicas)[:3]
		if s.Replicas >= 5 && r.IntN(2) == 0 {
			s.Voters = r.Perm(s.Replicas)[:5]
		}
	}
}

func (s *Scenario) drawManners(r *rand.Rand) {
	if s.Guarded = r.IntN(2) == 0; r.IntN(3) == 0 {
		s.Rolls = model.RollingUpdateByPartition
		if s.Guarded && r.IntN(2) == 0 {
			s.Rolls = model.RollingUpdateByGuard
		}
	}
	s.Ordered = r.IntN(3) == 0
	s.Shared = r.IntN(3) == 0 && s.Kind == Sharded
	switch s.Kind {
	case Replaced:
		s.Rolls, s.Replace = "", true
	case Ephemeral:
		s.Ephemeral = true
	}
}

// fix puts the primary into a StatefulSet of its own, behind that of the others.
func (s *Scenario) fix() {
	n := s.Replicas
	s.Pools = []Pool{{Replicas: n - 1}, {Replicas: 1}}
	s.Shards = [][]int{{n - 1}}
	for i := range n - 1 {
		s.Shards[0] = append(s.Shards[0], i)
	}
}

// Shapes of a scenario.
func (s Scenario) Shapes() map[Shape]bool {
	ranks, starts := map[int]bool{}, false
	for _, p := range s.pools() {
		ranks[p.Rank], starts = true, starts || p.Start > 0
	}
	has := map[Shape]bool{
		s.Kind: true, Many: s.Replicas > 5, Pooled: len(s.Pools) > 1, Ranked: len(ranks) > 1, Started: starts, ZoneLimits: s.MaxZones > 0,
		Quorums: len(s.Voters) > 0, InOrder: s.Ordered, AtParallel: !s.Ordered, OnDelete: s.Rolls == "", RollsGuard: s.Rolls == model.RollingUpdateByGuard,
		RollsByPartition: s.Rolls == model.RollingUpdateByPartition, Unguarded: !s.Guarded,
	}
	return has
}
