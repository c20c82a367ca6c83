package people

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// One person has the API server asked this often in a second, and at once.
const personPerSecond, personAtOnce = 5, 50

// persons are limits of those who are known. The zero value is ready.
type persons struct {
	mu   sync.Mutex
	each map[string]*rate.Limiter
}

func (p *persons) of(name string, now time.Time) *rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.each == nil {
		p.each = map[string]*rate.Limiter{}
	}
	if l := p.each[name]; l != nil {
		return l
	}
	if len(p.each) >= maxAddresses {
		for n, l := range p.each {
			if l.TokensAt(now) >= personAtOnce {
				delete(p.each, n)
			}
		}
	}
	l := rate.NewLimiter(personPerSecond, personAtOnce)
	if len(p.each) < maxAddresses {
		p.each[name] = l
	}
	return l
}
