package gossip

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	// seeds is the number of peers with which a joining agent exchanges everything. With one a cold
	// start of hundreds takes minutes, with three seconds.
	seeds = 3
	// rounds is how many rounds of seeds are tried before names are resolved again.
	rounds = 3

	lookupTimeout = 5 * time.Second
	firstBackoff  = 500 * time.Millisecond
	lastBackoff   = 10 * time.Second
	// An agent continues to look for peers that its roster lacks, less often the longer it finds
	// none: broadcasts of a cold start get lost, and after a partition memberlist itself never
	// calls the other side.
	firstRecheck = 2 * time.Second
	lastRecheck  = 20 * time.Second
)

// joiner finds peers, at the start and from time to time.
type joiner struct {
	mesh *Mesh
	list *memberlist.Memberlist
	own  netip.AddrPort

	lost bool // the last attempt failed; logs are written on change only
}

func (j *joiner) run(ctx context.Context) {
	backoff, recheck := firstBackoff, firstRecheck
	for {
		var wait time.Duration
		switch j.attempt(ctx) {
		case complete:
			wait, backoff = recheck, firstBackoff
			recheck = min(2*recheck, lastRecheck)
		case joined:
			wait, backoff, recheck = firstRecheck, firstBackoff, firstRecheck
		default:
			wait = backoff
			backoff = min(2*backoff, lastBackoff)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(jitter(wait)):
		}
	}
}

// result is the result of an attempt.
type result uint8

const (
	failed   result = iota // nobody answers, or nobody can be found
	joined                 // somebody new was found
	complete               // the roster has everybody who can be found
)

func (j *joiner) attempt(ctx context.Context) result {
	logger, metrics := j.mesh.options.Logger, j.mesh.options.Metrics
	lookup, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	peers, err := j.mesh.options.Peers(lookup)
	if err != nil {
		if !j.lost && ctx.Err() == nil {
			logger.Warn("cannot find peers", "error", err)
		}
		j.lost = true
		return failed
	}
	j.mesh.table.setNamed(peers)
	alive := j.mesh.table.aliveAt()
	var strangers []netip.AddrPort
	others, listed := 0, false
	for _, peer := range peers {
		switch {
		case peer == j.own:
			listed = true
		case alive[peer]:
			others++
		default:
			others++
			strangers = append(strangers, peer)
		}
	}
	if others == 0 {
		// The agent is alone if the name service already lists it; else the name service is late,
		// and nothing can be concluded.
		if !listed {
			return failed
		}
		j.mesh.table.setSynced()
		return complete
	}
	if len(strangers) == 0 {
		j.mesh.table.setSynced()
		j.lost = false
		return complete
	}

	rand.Shuffle(len(strangers), func(a, b int) { strangers[a], strangers[b] = strangers[b], strangers[a] })
	want, met := min(seeds, len(strangers)), 0
	for range rounds {
		if met >= want || len(strangers) == 0 || ctx.Err() != nil {
			break
		}
		n := min(want, len(strangers))
		met += j.exchange(strangers[:n])
		strangers = strangers[n:]
	}
	metrics.joins.WithLabelValues("ok").Add(float64(met))
	if met > 0 {
		j.mesh.table.setSynced()
	}
	settled := j.mesh.table.alive() > 1
	if settled != !j.lost {
		if settled {
			logger.Info("joined the gossip", "members", j.mesh.table.alive())
		} else {
			logger.Warn("no peer answers", "peers", others)
		}
	}
	j.lost = !settled
	switch {
	case met > 0:
		return joined
	case settled:
		return complete // those who are missing do not answer, as pods without agents
	default:
		return failed
	}
}

// exchange does a full exchange with all peers at the same time, and returns with how many it
// succeeded.
func (j *joiner) exchange(peers []netip.AddrPort) int {
	var (
		tasks sync.WaitGroup
		mu    sync.Mutex
		ok    int
	)
	for _, peer := range peers {
		tasks.Go(func() {
			n, err := j.list.Join([]string{peer.String()})
			if err != nil {
				j.mesh.options.Metrics.joins.WithLabelValues("failed").Inc()
			}
			mu.Lock()
			ok += n
			mu.Unlock()
		})
	}
	tasks.Wait()
	return ok
}

// jitter spreads d by a quarter either way.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2)
}
