package people

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/peer"

	"github.com/rollcall-dev/rollcall/agent/door"
)

// Of one connection by a forwarded port so many tokens and requests that are not known are asked about in a second, and at
// once: each command of a person has its own, and shows one.
const connectionPerSecond, connectionAtOnce = 1, 4

// forwarded are connections by forwarded ports, which all have one address. The zero value is ready.
type forwarded struct {
	mu    sync.Mutex
	each  table[*forwardedOne]
	known *rate.Limiter // of those that have shown a request that was known
}

type forwardedOne struct {
	limit *rate.Limiter
	name  string // whose request it has shown
	until time.Time
}

// admit reports whether the connection of a call may have another one looked at.
func (f *forwarded) admit(ctx context.Context, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.of(ctx, now)
	return c == nil || c.limit.AllowN(now, 1)
}

// shown notes whose request a connection has shown.
func (f *forwarded) shown(ctx context.Context, name string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.of(ctx, now); c != nil {
		c.name, c.until = name, now.Add(keepAttested)
	}
}

// first reports whether a call goes before those of strangers, as one on its connection was known
// of late.
func (f *forwarded) first(ctx context.Context, persons *persons, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.of(ctx, now)
	if c == nil || !now.Before(c.until) {
		return false
	}
	if f.known == nil {
		f.known = rate.NewLimiter(strangersPerSecond, strangersAtOnce)
	}
	return persons.of(c.name, now).AllowN(now, 1) && f.known.AllowN(now, 1)
}

// of is nil for calls that come otherwise, and where there are too many connections. mu is held.
func (f *forwarded) of(ctx context.Context, now time.Time) *forwardedOne {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return nil
	}
	from, err := netip.ParseAddrPort(p.Addr.String())
	if err != nil || !door.Forwarded(from.Addr()) {
		return nil
	}
	c, _ := f.each.of(from.String(), func() *forwardedOne {
		return &forwardedOne{limit: rate.NewLimiter(connectionPerSecond, connectionAtOnce)}
	},
		func(c *forwardedOne) bool { return c.limit.TokensAt(now) >= connectionAtOnce && !now.Before(c.until) })
	return c
}
