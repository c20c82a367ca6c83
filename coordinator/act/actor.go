package act

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// How long things may take, and how long to wait before they are tried again.
const (
	// callTimeout bounds one request to an agent, requestTimeout one to the API server.
	callTimeout    = 10 * time.Second
	requestTimeout = 10 * time.Second
	// writeAhead is how long after an order its agent may still start a write.
	writeAhead = 30 * time.Second
	// observedFor is how long a look of the pod and its witnesses is good for.
	observedFor = 2 * time.Second
	// patience is how long a prepared pod may be held before its claim is given up.
	patience = 30 * time.Second
	// maxConflicts in a row, maxRefusals by a foreign budget, or maxRejections for any other
	// reason end a claim.
	maxConflicts  = 5
	maxRefusals   = 6
	maxRejections = 10
	// refusalPause lies between two evictions that a budget refuses, and at most between two
	// that anything else does.
	refusalPause = 5 * time.Second
	// sentFor is how long the cache may take to show an accepted removal.
	sentFor = 30 * time.Second

	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	pollEvery  = 500 * time.Millisecond
	// catchUpEvery is how often the cache is asked whether it has caught up.
	catchUpEvery = 10 * time.Millisecond

	// firstRest and lastRest bound how long a pod is left alone after a claim on
	// it had to be given up.
	firstRest = 10 * time.Second
	lastRest  = 5 * time.Minute
)

// Actor carries out the plans of one database cluster in one epoch.
//
// Advance must be called from one goroutine. Slow work runs in goroutines of
// its own, at most one per claim, so a pod whose agent hangs holds nobody up.
type Actor struct {
	options Options
	pods    *Pods
	sets    *Sets
	volumes *Volumes
	log     *slog.Logger

	running sync.WaitGroup

	mu      sync.Mutex
	heard   []lesson
	deposed bool

	runs map[string]*run
	// made are the claims that this Actor asked for.
	made  map[string]bool
	rests map[string]*rest
	// knobs are the settings whose old value is recorded; shared are the claims that
	// this Actor added to a record.
	knobs  map[string]*knob
	shared map[string]bool
	// leftovers are what this process knows of what is left to be undone, by claim.
	leftovers map[string]*run
	// putBacks counts the settings that were put back.
	putBacks int
	// forced are the pods that are deleted by force, by UID.
	forced map[string]*run
	// lines are the hold lines that were moved, by pool.
	lines map[string]*line
}

// New makes an Actor.
func New(options Options) (*Actor, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Actor{
		options: options,
		pods:    NewPods(options.Kubernetes, options.Namespace),
		sets:    NewSets(options.Kubernetes, options.Namespace),
		volumes: NewVolumes(options.Kubernetes, options.Namespace),
		log:     options.Logger.With("cluster", options.Namespace+"/"+options.Name, "epoch", options.Epoch),
		runs:    map[string]*run{},
		made:    map[string]bool{},
		rests:   map[string]*rest{},
		forced:  map[string]*run{},
		knobs:   map[string]*knob{},
		shared:  map[string]bool{},
		lines:   map[string]*line{},

		leftovers: map[string]*run{},
	}, nil
}

// Situation is what one pass of an Actor goes by.
type Situation struct {
	// Now is when the pass began: before Snapshot was made.
	Now time.Time
	// Cluster is the object from which Snapshot was made.
	Cluster  *v1alpha1.DatabaseCluster
	Snapshot model.Snapshot
	// Versions are the resourceVersions of the pods from which Snapshot was made,
	// by UID.
	Versions map[string]string
	// Pools are the StatefulSets from which Snapshot was made.
	Pools []Pool
	// Volumes are the names of the templates of the volume claims of each of them, by its name.
	Volumes map[string][]string
	// Names are the names that the database has for pods, by pod, as far as they are
	// certain: while pods without an agent go, or pods are replaced.
	Names map[string]string
	Plan  model.Plan
}

func (at *Situation) pool(name string) *Pool {
	for i := range at.Pools {
		if at.Pools[i].Name == name {
			return &at.Pools[i]
		}
	}
	return nil
}

// Advance starts what is to be done next about each open claim and about the
// plan's steps, and returns what must be written for the rest. A pass in which
// claims are dropped makes no new ones: the plan was made with them. Decide
// again without them, and call Claim, to have both written at once.
func (a *Actor) Advance(ctx context.Context, at Situation) Outcome {
	a.listen(at.Now)
	status := at.Cluster.Status
	if a.isDeposed() || status.Epoch != a.options.Epoch {
		return Outcome{Deposed: true, Claims: status.Claims}
	}
	out := Outcome{Edits: Edits{Undo: map[string][]byte{}, Share: map[string]Shared{}, Phase: map[string]model.ClaimPhase{},
		Volumes: map[string][]model.VolumeClaim{}, Emptied: map[string]model.Time{}, Follow: map[string]string{}},
		Waits: map[string]string{}}
	a.learnKnobs(at)
	open := make(map[string]bool, len(status.Claims))
	for _, claim := range status.Claims {
		open[claim.ID] = true
		if claim.Epoch != a.options.Epoch {
			out.Deposed = true
			continue
		}
		a.pursue(ctx, at, claim, &out)
	}
	out.Deposed = out.Deposed || a.isDeposed()
	for id, r := range a.runs {
		if !open[id] && !r.busy {
			delete(a.runs, id)
		}
	}
	maps.DeleteFunc(a.made, func(id string, _ bool) bool { return !open[id] })
	if !out.Deposed {
		a.draw(ctx, at, &out)
		if len(out.Edits.Drop) == 0 {
			a.Claim(at, &out)
		}
	}
	if !out.Deposed {
		a.deleteByOverride(ctx, at, &out)
		a.putBack(ctx, at, &out)
		a.clear(ctx, at, &out)
	}
	a.wakeForRests(at.Now, &out)
	return out
}

// pursue does the next thing about one claim.
func (a *Actor) pursue(ctx context.Context, at Situation, claim model.Claim, out *Outcome) {
	r := a.runOf(at.Now, claim)
	c, why := a.look(at, claim, r)
	a.noteOver(at, c, r, out)
	move := next(c)
	r.say(a.log, claim, c, move, why)
	if why != "" {
		out.Waits[claim.Pod] = why
	}
	if now := phase(c); now != claim.Phase {
		out.Edits.Phase[claim.ID] = now
		claim.Phase = now
	}
	out.Claims = append(out.Claims, claim)
	switch move {
	case Wait:
	case Store:
		if len(r.heard.Undo) > 0 || r.heard.Shared.Knob != "" {
			out.Edits.Undo[claim.ID] = r.heard.Undo
		}
		if len(r.heard.Volumes) > 0 && len(claim.Volumes) == 0 {
			out.Edits.Volumes[claim.ID] = r.heard.Volumes
		}
		if r.heard.Shared.Knob != "" {
			out.Edits.Share[claim.ID], a.shared[claim.ID] = r.heard.Shared, true
		}
	case Attest:
		out.Edits.Emptied[claim.ID] = model.At(at.Now)
	case Follow:
		out.Edits.Follow[claim.ID] = r.heard.Heir
		delete(a.runs, claim.ID) // nothing that was heard of the pod is true of its successor
		a.made[claim.ID] = false
	case Release:
		if r.rest != "" && c.Pod == Here {
			a.leaveAlone(at.Now, claim.UID, r.rest, r.giveUp)
			r.rest = ""
		}
		if away, ok := r.finished(at.Now); ok && c.Back {
			a.options.Metrics.away.Observe(away.Seconds())
			out.Away = append(out.Away, Absence{Pod: claim.Pod, Lasted: away})
		}
		out.Edits.Drop = append(out.Edits.Drop, claim.ID)
		if r.heard.Left && len(claim.Undo) > 0 {
			out.Edits.Leave = append(out.Edits.Leave, v1alpha1.Leftover{Claim: claim.ID, Pod: claim.Pod, Undo: claim.Undo})
		}
	default:
		if r.busy {
			return
		}
		if due := r.due(move); at.Now.Before(due) {
			out.wake(due)
			return
		}
		a.start(ctx, at, claim, r, move)
	}
	if !r.recheckAt.IsZero() {
		out.wake(r.recheckAt)
	}
	if r.heard.Opened && !c.CaughtUp {
		out.wake(at.Now.Add(catchUpEvery)) // the cache tells of no change that decides nothing
	}
	if !r.heldSince.IsZero() {
		out.wake(r.heldSince.Add(patience + 1))
	}
	if c.Held || r.heard.Sent {
		// Only time may end these: a look that grows old, a cache that lags.
		out.wake(at.Now.Add(observedFor))
	}
}

// start carries a move out in a goroutine of its own; what it learns is part of
// the next pass.
func (a *Actor) start(ctx context.Context, at Situation, claim model.Claim, r *run, move Move) {
	r.busy = true
	if move == Ask {
		r.askedIn = a.putBacks
	}
	known := *r
	a.running.Go(func() {
		learn := a.carryOut(ctx, at, claim, known, move)
		a.tell(func() {
			r.busy = false
			learn(r)
		})
	})
}

func (a *Actor) carryOut(ctx context.Context, at Situation, claim model.Claim, r run, move Move) func(*run) {
	switch move {
	case Ask:
		return a.ask(ctx, at, claim)
	case Apply:
		return a.apply(ctx, at, claim)
	case Relieve:
		return a.relieve(ctx, at, claim, r)
	case Find:
		return a.find(ctx, claim)
	case Discard:
		if whereabouts(at.Snapshot, claim) == Gone {
			return a.discardUnwanted(ctx, at, claim)
		}
		return a.discard(ctx, at, claim)
	case Renew:
		return a.renew(ctx, claim)
	case Observe:
		return a.observe(ctx, at, claim, r)
	case Open:
		return a.open(ctx, at, claim)
	case Go:
		return a.let(ctx, at, claim, r.opened)
	case Shut:
		return a.shut(ctx, at, claim, r.unanswered)
	case Undo:
		return a.undo(ctx, at, claim, r)
	case Confirm:
		return a.confirm(ctx, at, claim)
	case Seek:
		return a.seek(ctx, claim)
	}
	return func(r *run) { r.failed(fmt.Errorf("no such move: %v", move)) }
}

// lesson is what a goroutine has learned, and when.
type lesson struct {
	at    time.Time
	learn func()
}

// tell queues a lesson for the next pass.
func (a *Actor) tell(learn func()) {
	a.mu.Lock()
	a.heard = append(a.heard, lesson{time.Now(), learn})
	a.mu.Unlock()
	a.options.Notify()
}

// listen takes in what was learned before a pass began. What was learned since
// is left for the next one: the snapshot of this one may not contain it, and
// must not be decided on as if it did.
func (a *Actor) listen(began time.Time) {
	a.mu.Lock()
	late := slices.IndexFunc(a.heard, func(l lesson) bool { return l.at.After(began) })
	if late < 0 {
		late = len(a.heard)
	}
	heard := a.heard[:late]
	a.heard = a.heard[late:]
	a.mu.Unlock()
	for _, l := range heard {
		l.learn()
	}
}

func (a *Actor) depose() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deposed = true
}

func (a *Actor) isDeposed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deposed
}

// Wait returns when everything that was started has ended; end the context of
// Advance first.
func (a *Actor) Wait() { a.running.Wait() }
