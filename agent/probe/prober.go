package probe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

const (
	// minGap is the least time between two looks that were asked for, so that nobody
	// can make the agent a load on its database.
	minGap = 50 * time.Millisecond
	// patience is how long who asks for a look waits for one that nobody has asked for.
	patience = 500 * time.Millisecond
)

// proberOptions are what a prober works with. All are required.
type Options struct {
	Engine   *Slot
	Interval time.Duration
	Timeout  time.Duration
	Metrics  *Metrics
	// seen is told of every sighting, in order, before anybody who waits for it.
	OnResult func(Result)
}

// prober looks at the database at every interval, and when somebody wants to know
// what is true from now on. Looks never overlap. Who asks has time for one slow look
// and not for two, so a look at an interval is broken off for it after patience; not
// while the member is not live, since only what looks have covered counts for how long.
type Prober struct {
	Options

	wake chan struct{}

	mu      sync.Mutex
	waiting *asked // for the next look to start; nil: nobody does
	giveUp  func() // breaks off the look under way; nil while there is none that may be
}

// asked is a look that somebody waits for, however many.
type asked struct {
	done chan struct{} // closed when it was sighted
	Result
}

func NewProber(o Options) *Prober {
	return &Prober{Options: o, wake: make(chan struct{}, 1)}
}

// run looks until ctx ends.
func (p *Prober) Run(ctx context.Context) {
	var last Result
	var begun time.Time // when the newest look began, also one that was broken off
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			select {
			case <-p.wake: // who waits is answered by this look
			default:
			}
		case <-p.wake:
			if wait := minGap - time.Since(begun); wait > 0 {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
			}
		}
		looking, giveUp := context.WithCancel(ctx)
		answer := p.begin(giveUp, last.NotLiveSince.IsZero())
		started := time.Now()
		if started.Sub(begun) > p.longestGap() {
			last = last.interrupted()
		}
		begun = started
		observation, err := p.look(looking)
		p.end()
		brokenOff := looking.Err() != nil
		giveUp()
		switch {
		case ctx.Err() != nil:
			return
		case brokenOff: // whatever it says; who asked has sent a wake
			timer.Reset(p.Interval)
			continue
		}
		last = last.Follow(started, observation, err)
		p.Metrics.probed(time.Since(started), err == nil && observation.Member != engines.MembershipUnknown)
		p.OnResult(last)
		if answer != nil {
			answer.Result = last
			close(answer.done)
		}
		timer.Reset(max(0, p.Interval-time.Since(started)))
	}
}

// begin answers who waits for the look that begins. One that nobody waits for may be
// given up.
func (p *Prober) begin(giveUp func(), mayGiveUp bool) *asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := p.waiting
	p.waiting = nil
	if answer == nil && mayGiveUp {
		p.giveUp = giveUp
	}
	return answer
}

func (p *Prober) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveUp = nil
}

// hurry breaks off the look under way if nobody has asked for it.
func (p *Prober) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.giveUp != nil {
		p.giveUp()
	}
}

// longestGap is the most that lies between the beginnings of two looks while all is
// well. A process that was stopped, or got no processor, has not seen what lay between.
func (p *Prober) longestGap() time.Duration { return p.Interval + p.Timeout }

func (p *Prober) look(ctx context.Context) (engines.Observation, error) {
	engine, err := p.Engine.Get()
	if err != nil {
		return engines.Observation{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	return engine.Observe(ctx)
}

// fresh answers a sighting that started after the call. Calls that wait at the
// same time share one.
func (p *Prober) Fresh(ctx context.Context) (Result, error) {
	p.mu.Lock()
	if p.waiting == nil {
		p.waiting = &asked{done: make(chan struct{})}
	}
	answer := p.waiting
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // it will look anyway
	}
	slow := time.NewTimer(patience)
	defer slow.Stop()
	for {
		select {
		case <-answer.done:
			return answer.Result, nil
		case <-slow.C:
			p.hurry()
		case <-ctx.Done():
			return Result{}, fmt.Errorf("the database did not answer in time: %w", ctx.Err())
		}
	}
}
