package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// minGap is the least time between two looks that were asked for, so that nobody
// can make the agent a load on its database.
const minGap = 50 * time.Millisecond

// prober looks at the database at every interval, and when somebody wants to know
// what is true from now on. Looks never overlap.
type prober struct {
	engine   *slot
	interval time.Duration
	timeout  time.Duration
	metrics  *metrics
	// seen is told of every sighting, in order, before anybody who waits for it.
	seen func(sighting)

	wake chan struct{}

	mu      sync.Mutex
	waiting []chan sighting // for the next look to start
}

func newProber(engine *slot, interval, timeout time.Duration, m *metrics, seen func(sighting)) *prober {
	return &prober{engine: engine, interval: interval, timeout: timeout, metrics: m, seen: seen, wake: make(chan struct{}, 1)}
}

// run looks until ctx ends.
func (p *prober) run(ctx context.Context) {
	var last sighting
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
			if wait := minGap - time.Since(last.started); last.sequence > 0 && wait > 0 {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
			}
		}
		p.mu.Lock()
		answer := p.waiting
		p.waiting = nil
		p.mu.Unlock()

		started := time.Now()
		if started.Sub(last.started) > p.longestGap() {
			last = last.interrupted()
		}
		observation, err := p.look(ctx)
		if ctx.Err() != nil {
			return
		}
		last = last.follow(started, observation, err)
		p.metrics.probed(time.Since(started), err)
		p.seen(last)
		for _, c := range answer {
			c <- last
		}
		timer.Reset(max(0, p.interval-time.Since(started)))
	}
}

// longestGap is the most that lies between the beginnings of two looks while all is
// well. A process that was stopped, or got no processor, has not seen what lay between.
func (p *prober) longestGap() time.Duration { return p.interval + p.timeout }

func (p *prober) look(ctx context.Context) (engines.Observation, error) {
	engine, err := p.engine.get()
	if err != nil {
		return engines.Observation{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return engine.Observe(ctx)
}

// fresh answers a sighting that started after the call. Calls that wait at the
// same time share one.
func (p *prober) fresh(ctx context.Context) (sighting, error) {
	answer := make(chan sighting, 1)
	p.mu.Lock()
	p.waiting = append(p.waiting, answer)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // it will look anyway
	}
	select {
	case s := <-answer:
		return s, nil
	case <-ctx.Done():
		return sighting{}, fmt.Errorf("the database did not answer in time: %w", ctx.Err())
	}
}
