package people

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/peer"

	"github.com/rollcall-dev/rollcall/agent/door"
)

// The API server is asked about unknown tokens, and requests that have not been read, on average
// this often in a second, and at once: from one address, and from all. A returning person costs two
// questions at most. Known people have a limit of their own, so that invented tokens do not delay
// them. People who come through the API server share a limit, because each command shows a request
// that has not been read. One of their connections has a share, see forwarded.
const (
	strangersPerSecond, strangersAtOnce = 10, 50
	addressPerSecond, addressAtOnce     = 5, 20
	// maxAddresses are told apart; more have one limit together.
	maxAddresses = 1024
	// keepVouched is how long a token counts as known after the API server has last accepted it.
	keepVouched = 15 * time.Minute
)

// strangers limits questions about tokens that are not known. The zero value is ready.
type strangers struct {
	mu        sync.Mutex
	all, rest *rate.Limiter
	forwarded *rate.Limiter // of those who come by a forwarded port
	addresses table[*rate.Limiter]
}

func (s *strangers) admit(ctx context.Context, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = rate.NewLimiter(strangersPerSecond, strangersAtOnce)
		s.rest = rate.NewLimiter(addressPerSecond, addressAtOnce)
		s.forwarded = rate.NewLimiter(strangersPerSecond, strangersAtOnce)
	}
	address := addressOf(ctx)
	if ip, err := netip.ParseAddr(address); err == nil {
		if door.Forwarded(ip) {
			return s.forwarded.AllowN(now, 1)
		}
		address = door.Peer(ip).String() // of IPv6 one machine mostly has a network
	}
	// In this order, a client that asks too much takes nothing from others.
	return s.of(address, now).AllowN(now, 1) && s.all.AllowN(now, 1)
}

// of returns the limit of an address.
func (s *strangers) of(address string, now time.Time) *rate.Limiter {
	fresh := func() *rate.Limiter { return rate.NewLimiter(addressPerSecond, addressAtOnce) }
	silent := func(l *rate.Limiter) bool { return l.TokensAt(now) >= addressAtOnce } // it has not asked lately
	if l, ok := s.addresses.of(address, fresh, silent); ok {
		return l
	}
	return s.rest
}

func addressOf(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.String()
	}
	return host
}
