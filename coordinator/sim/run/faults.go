package run

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Class of a fault, as the design counts them.
type Class string

// The classes.
const (
	StaleCache   Class = "stale or rewound cache"
	Crash        Class = "coordinator crash"
	TwoLeaders   Class = "two leaders, delayed packets"
	Partition    Class = "partition or one-way loss"
	Loss         Class = "loss, duplicates, reorder, replay"
	StuckAgent   Class = "stuck or dying agent"
	StaleEngine  Class = "stale engine status"
	BrokenEngine Class = "engine hangs or answers nonsense"
	Clocks       Class = "clock jumps and drift"
	Identity     Class = "new UID, new container, reused IP"
	PartReports  Class = "partial reports"
	Volume       Class = "lost volume, Pending"
	Outside      Class = "drain or delete by others"
	Template     Class = "third template, rollback"
	Scale        Class = "scale in mid-rollout"
	BadImage     Class = "bad image"
	WebhookDown  Class = "webhook down"
	Rotation     Class = "rotation of keys"
	Throttling   Class = "API throttling, read-only etcd"
	Leftovers    Class = "leftovers after a crash"
	Mixed        Class = "mixed versions"
	Malformed    Class = "malformed input"
	Aimed        Class = "trouble at a claim's worst moment"
	Session      Class = "loss of membership, of one, some or all"
	Pauses       Class = "paused processes"
	Skews        Class = "lasting skew of a node's clock, steps"
	Unowned      Class = "label or StatefulSet lost for a while"
	Edits        Class = "spec edited in mid-rollout"
	Drains       Class = "node drain that is followed"
	Approvals    Class = "waits for approval"
	Outage       Class = "total outage with a bad template"
	Ailing       Class = "a copy broken before the start"
	Unjoined     Class = "pods taken while the webhook is down"
)

// Classes are all of them.
var Classes = []Class{
	StaleCache, Crash, TwoLeaders, Partition, Loss, StuckAgent, StaleEngine, BrokenEngine, Clocks, Identity, PartReports, Volume,
	Outside, Template, Scale, BadImage, WebhookDown, Rotation, Throttling, Leftovers, Mixed, Malformed, Aimed,
	Session, Pauses, Skews, Unowned, Edits, Drains, Approvals, Outage, Ailing, Unjoined,
}

// oldClasses are those of the worlds that were drawn first.
var oldClasses = Classes[:23]

// Fault is one disturbance of a run.
type Fault struct {
	Class   Class
	At, For time.Duration
	// Pick chooses among pods and kinds.
	Pick uint64
	// Name is of one of the Named faults. It is empty if it was drawn.
	Name string
}

func (f Fault) String() string {
	if f.Name != "" {
		return f.Name
	}
	return string(f.Class)
}

// drawFaults takes two or three of some classes.
func drawFaults(r *rand.Rand, o Options, classes []Class) []Fault {
	if o.Quiet {
		return nil
	}
	var faults []Fault
	for range 2 + r.IntN(2) {
		class := classes[r.IntN(len(classes))]
		if o.Only != "" {
			class = o.Only
		}
		if slices.ContainsFunc(faults, func(f Fault) bool { return f.Class == class }) {
			continue
		}
		f := Fault{
			Class: class, Pick: r.Uint64(),
			At:  begin + time.Duration(r.Int64N(int64(13*time.Second))),
			For: 2*time.Second + time.Duration(r.Int64N(int64(10*time.Second))),
		}
		f.For = lasts(f)
		faults = append(faults, f)
	}
	return faults
}

// lasts is for how long, where a class has times of its own.
func lasts(f Fault) time.Duration {
	share := time.Duration(f.Pick >> 32 % 1000)
	switch f.Class {
	case Aimed:
		return aimedFor
	case Session: // mostly seconds, at most somewhat less than a start may take
		if f.Pick>>16%3 > 0 {
			return 500*time.Millisecond + share*15*time.Millisecond
		}
		return 500*time.Millisecond + share*58*time.Millisecond
	case Edits, Approvals:
		return 2*time.Second + share*40*time.Millisecond
	case Drains:
		return 5*time.Second + share*60*time.Millisecond
	case Outage:
		return 5*time.Second + share*30*time.Millisecond
	case Pauses:
		return time.Second + share*40*time.Millisecond
	}
	return f.For
}

// arm has the faults begin and end in their time.
func (w *world) arm() {
	for _, f := range w.scenario.Faults {
		inject := injections[f.Class]
		if named, ok := ByName(f.Name); ok {
			inject = named.inject
		}
		at := f.At
		if f.Class == Leftovers || f.Class == Ailing {
			at = 0
		}
		w.loop.In(at, func() {
			w.loop.Log("fault", "%s begins", f)
			end := inject(w, f)
			if f.Class != Aimed && f.Class != Ailing { // which have to meet something
				w.hits[f.Class] = true
			}
			w.loop.In(f.For, func() {
				if end != nil {
					end()
				}
				w.loop.Log("fault", "%s is over", f)
			})
		})
	}
}

// injections begin a fault and answer what ends it.
var injections = map[Class]func(*world, Fault) func(){
	StaleCache: staleCache, Crash: crash, TwoLeaders: twoLeaders, Partition: partition, Loss: loss, StuckAgent: stuckAgent,
	StaleEngine: staleEngine, BrokenEngine: brokenEngine, Clocks: clocks, Identity: identity, PartReports: partReports, Volume: volume,
	Outside: outside, Template: template, Scale: scale, BadImage: badImage, WebhookDown: webhookDown, Rotation: rotation,
	Throttling: throttling, Leftovers: leftovers, Mixed: mixed, Malformed: malformed, Aimed: aimed,
	Session: session, Pauses: pauses, Skews: skews, Unowned: unowned, Edits: edits, Drains: drains, Approvals: approvals,
	Outage: outage, Ailing: ailing, Unjoined: unjoined,
}
