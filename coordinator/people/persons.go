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
	each table[*rate.Limiter]
}

func (p *persons) of(name string, now time.Time) *rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := func() *rate.Limiter { return rate.NewLimiter(personPerSecond, personAtOnce) }
	if l, ok := p.each.of(name, fresh, func(l *rate.Limiter) bool { return l.TokensAt(now) >= personAtOnce }); ok {
		return l
	}
	return fresh()
}
