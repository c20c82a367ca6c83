// Package observer judges each pod that goes while something is rolled: which
// other copies of what it hosts were not serving at that moment. It asks the
// database itself, copy by copy, and takes from Kubernetes only when a pod was
// asked to go. It knows nothing of Rollcall, so nothing that Rollcall says can
// excuse what it sees.
package observer

import (
	"context"
	"sync"
	"time"
)

// Copies by shard and pod: empty when the copy serves, else why it does not.
type Copies map[string]map[string]string

// nowhere begins the name of what stands for the pod of a copy that is on none.
const nowhere = "nowhere "

func (c Copies) note(shard, pod, why string) {
	if c[shard] == nil {
		c[shard] = map[string]string{}
	}
	c[shard][pod] = why
}

// Look is one question to every copy.
type Look struct {
	Asked, Answered time.Time
	Copies          Copies
	// Err says why nothing could be learned.
	Err error
}

// Going is a pod that was asked to go.
type Going struct {
	Pod string
	At  time.Time
}

// Options are the options of an observer.
type Options struct {
	// Read asks every copy.
	Read func(ctx context.Context) (Copies, error)
	// Every is the time between two looks, default 500 ms.
	Every time.Duration
	// Budget is how many pods, and how many copies of one shard, may be unavailable at once;
	// default 1.
	Budget int
}

// Observer looks until its context ends.
type Observer struct {
	opts Options

	mu     sync.Mutex
	looks  []Look
	goings []Going
}

// New makes an observer.
func New(opts Options) *Observer {
	if opts.Every == 0 {
		opts.Every = 500 * time.Millisecond
	}
	if opts.Budget == 0 {
		opts.Budget = 1
	}
	return &Observer{opts: opts}
}

// Goes tells that a pod was asked to go.
func (o *Observer) Goes(pod string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.goings = append(o.goings, Going{Pod: pod, At: time.Now()})
}

// Run looks until ctx ends.
func (o *Observer) Run(ctx context.Context) {
	tick := time.NewTicker(o.opts.Every)
	defer tick.Stop()
	for {
		asked := time.Now()
		copies, err := o.opts.Read(ctx)
		if ctx.Err() != nil {
			return
		}
		o.mu.Lock()
		o.looks = append(o.looks, Look{Asked: asked, Answered: time.Now(), Copies: copies, Err: err})
		o.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Newest is the last look; ok is false before the first.
func (o *Observer) Newest() (look Look, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.looks) == 0 {
		return Look{}, false
	}
	return o.looks[len(o.looks)-1], true
}

// Report so far.
func (o *Observer) Report() Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	return judge(o.looks, o.goings, o.opts.Budget)
}
