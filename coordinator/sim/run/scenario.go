package run

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Scenario is what a seed makes of a world before it begins to move.
type Scenario struct {
	Seed     uint64
	Kind     Shape
	Replicas int
	Shards   [][]int // ordinals that hold copies, the leader first
	// Limits of pods and of copies of a shard.
	MaxPods, MaxShard int
	Soak              int
	// Rolls: the StatefulSet's strategy is RollingUpdate, driven by the partition or
	// by the guard. Ordered: its pods are managed in order.
	Rolls   model.RollingUpdate
	Ordered bool
	// Guarded is true if Kubernetes is known to refuse that others remove pods.
	Guarded bool
	Method  model.Method
	// Lag bounds how far watches are behind, Trip a request.
	Lag, Trip time.Duration
	Faults    []Fault
	// Shared is true if the database has a setting of all of it, which drains throttle.
	Shared bool
	// Acks, when not 0, makes it a database with one primary, whose commits so many
	// replicas must acknowledge.
	Acks int
	// Fixed is true if the primary keeps its role.
	Fixed bool
	// Galera is true if all members take writes. Arbitrator is true if one votes that has no pod; Keeps
	// is for how long the others keep what a member misses, which needs all of the data after that.
	Galera, Arbitrator bool
	Keeps              time.Duration
	// Replace is true if pods are replaced, and keep their data on volumes of their own. Hollow is
	// a planted bug: evacuations move nothing, and nobody tells.
	Replace, Hollow bool
	// MaxZones, when not 0, limits the zones with unavailable pods. Voters are places of pods.
	MaxZones int
	Voters   []int
	// Approved is when an outage is, where all pods go at once.
	Approved time.Duration
	// Pools, when there are others than one of so many Replicas, which are of all of them.
	Pools []Pool
	// Age of the pods in the beginning.
	Age time.Duration
	// Ephemeral is true if the data of a pod is gone with it, so it is moved off first.
	Ephemeral bool
	// Veto is until when one member asks not to be disturbed; zero means none does.
	Veto time.Duration
}

// aged is a pod that has been running for long.
const aged = time.Hour

// NewScenario draws one. only, when not empty, names the classes of faults that
// may be among it; quiet leaves all out.
func NewScenario(seed uint64, o Options) Scenario {
	if !o.old() {
		return draw(seed, o)
	}
	r := rand.New(rand.NewPCG(seed, 0x7363656e))
	s := Scenario{
		Seed: seed, Replicas: size(seed, r.IntN(3), o.Wide), MaxPods: 1, MaxShard: 1, Method: model.MethodEvict,
		Lag: time.Duration(5+r.IntN(150)) * time.Millisecond, Trip: time.Duration(1+r.IntN(10)) * time.Millisecond,
	}
	if r.IntN(2) == 0 {
		s.MaxPods = 2
	}
	if r.IntN(4) == 0 {
		s.Soak = 3
	}
	if r.IntN(4) == 0 {
		s.Method = model.MethodDelete
	}
	for range 1 + r.IntN(3) {
		copies := min(2+r.IntN(2), s.Replicas)
		if r.IntN(8) == 0 {
			copies = 1
		}
		s.Shards = append(s.Shards, r.Perm(s.Replicas)[:copies])
	}
	if r.IntN(6) == 0 {
		s.MaxShard = 2
	}
	s.Faults = drawFaults(r, o, o.classes())
	if r.IntN(15) == 0 {
		s.Veto = 28 * time.Second
	}
	if s.Guarded = r.IntN(2) == 0; r.IntN(3) == 0 {
		s.Rolls = model.RollingUpdateByPartition
		if s.Guarded && r.IntN(2) == 0 {
			s.Rolls = model.RollingUpdateByGuard
		}
	}
	s.Ordered = r.IntN(3) == 0
	s.Shared = r.IntN(3) == 0
	if o.Primary > 0 {
		s.replicate(o.Primary, r)
	}
	if o.Replace {
		s.replace(r)
	}
	return s
}

// replace makes the world one in which there is room for what is moved.
func (s *Scenario) replace(r *rand.Rand) {
	s.Replicas, s.MaxPods, s.MaxShard, s.Shared, s.Rolls, s.Replace = 3+r.IntN(3), 1, 1, false, "", true
	for i := range s.Shards {
		s.Shards[i] = r.Perm(s.Replicas)[:2]
	}
}

// replicate makes the world one of a database with one primary, which is anywhere.
func (s *Scenario) replicate(pods int, r *rand.Rand) {
	s.Replicas, s.Acks, s.MaxShard, s.Shared = pods, pods/2, 1, false
	s.Shards = [][]int{r.Perm(pods)}
	switch r.IntN(4) {
	case 0:
		s.Rolls = ""
	case 1:
		s.Rolls, s.Guarded = model.RollingUpdateByGuard, true
	default:
		s.Rolls = model.RollingUpdateByPartition
	}
}

// size is how many pods there are: mostly few, as what goes wrong at all goes
// wrong among few, and the time that a run takes grows with them.
func size(seed uint64, more int, wide bool) int {
	if wide {
		return 3 + more
	}
	r := rand.New(rand.NewPCG(seed, 0x73697a65))
	switch n := r.IntN(20); {
	case n < 6:
		return 2
	case n < 14:
		return 3
	case n < 17:
		return 4
	}
	return 5
}

// manners say how the StatefulSet works.
func (s Scenario) manners() string {
	text := "on delete"
	if s.Rolls != "" {
		text = "rolls by " + string(s.Rolls)
	}
	if s.Ordered {
		text += ", in order"
	}
	if s.Guarded {
		text += ", guarded"
	}
	if s.Shared {
		text += ", throttled"
	}
	if s.Replace {
		text += ", replaced"
	}
	if s.Ephemeral {
		text += ", ephemeral"
	}
	if s.Kind == ByZone || s.Kind == AtOnce {
		text += ", " + string(s.Kind)
	}
	if s.Approved > 0 {
		text += fmt.Sprintf(" approved at %s", s.Approved.Round(time.Millisecond))
	}
	if s.MaxZones > 0 {
		text += fmt.Sprintf(", %d zones may be unavailable", s.MaxZones)
	}
	if len(s.Voters) > 0 {
		text += fmt.Sprintf(", voters %v", s.Voters)
	}
	if len(s.Pools) > 0 {
		text += fmt.Sprintf(", pools (replicas, start, rank) %v", s.Pools)
	}
	if s.Fixed {
		text += ", the primary stays"
	}
	if s.Galera {
		text += fmt.Sprintf(", members of Galera that keep write sets for %s", s.Keeps.Round(time.Millisecond))
	}
	if s.Arbitrator {
		text += ", and an arbitrator"
	}
	if s.Acks > 0 {
		text += fmt.Sprintf(", one primary and %d of its replicas acknowledge", s.Acks)
	}
	return text
}

func (s Scenario) String() string {
	text := fmt.Sprintf("seed %d: %d pods, %d may be unavailable, %d of a shard, soak %d s, %s, %s, shards",
		s.Seed, s.Replicas, s.MaxPods, s.MaxShard, s.Soak, s.Method, s.manners())
	for _, shard := range s.Shards {
		text += fmt.Sprint(" ", shard)
	}
	for _, f := range s.Faults {
		text += fmt.Sprintf("; %s at %s for %s", f, f.At.Round(time.Millisecond), f.For.Round(time.Millisecond))
	}
	return text
}
