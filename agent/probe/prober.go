package probe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

const (
	// minGap is the shortest time between two probes on request, so that nobody can
	// overload the database through its agent.
	minGap = 50 * time.Millisecond
	// patience is how long a request waits for a probe under way that nobody
	// requested.
	patience = 500 * time.Millisecond
)

// Options are the options of a Prober. All are required.
type Options struct {
	Engine   *Slot
	Interval time.Duration
	Timeout  time.Duration
	Metrics  *Metrics
	// OnResult gets every result, in order, before anybody who waits for it.
	OnResult func(Result)
}

// Prober probes the database at every interval, and when somebody wants to know what
// is true from now on. Probes never overlap. A caller has time for one slow probe,
// not for two, so a request cancels a probe of the interval after patience; not
// while the member is not live, since only time covered by probes counts as not
// live.
type Prober struct {
	Options

	wake chan struct{}

	mu      sync.Mutex
	waiting *asked // for the next probe; nil means nobody waits
	giveUp  func() // cancels the probe under way; nil if it must not be cancelled
}

// asked is a probe that one or more callers wait for.
type asked struct {
	done chan struct{} // closed with the result
	Result
}

func NewProber(o Options) *Prober {
	return &Prober{Options: o, wake: make(chan struct{}, 1)}
}

// Run probes until ctx ends.
func (p *Prober) Run(ctx context.Context) {
	var last Result
	var begun time.Time // of the newest probe, cancelled ones included
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			select {
			case <-p.wake: // this probe answers whoever waits
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
		case brokenOff: // its answer does not count; the request has sent a wake
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

// begin returns who waits for the probe that begins. A probe that nobody waits for
// may be cancelled.
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

// hurry cancels the probe under way unless somebody has requested it.
func (p *Prober) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.giveUp != nil {
		p.giveUp()
	}
}

// longestGap is the longest time between the starts of two probes while all is well.
// A process that was suspended or starved has not seen what happened in between.
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

// Fresh returns a result of a probe that started after the call. Concurrent calls
// share one probe.
func (p *Prober) Fresh(ctx context.Context) (Result, error) {
	p.mu.Lock()
	if p.waiting == nil {
		p.waiting = &asked{done: make(chan struct{})}
	}
	answer := p.waiting
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // it is already awake
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
