package solr

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

const roleOverseer = "overseer"

// readings are the answers from which an Observation is made. An error means that something could
// not be learned.
type readings struct {
	self        identity
	selfErr     error
	state       *clusterState
	facts       facts // of the state
	stateErr    error
	overseer    string
	overseerErr error
	busy        string
	health      nodeHealth
	healthErr   error
	dataBytes   int64
	// still means that the node's copies that are not active have been as they are for long.
	still bool
}

// observation is pure: readings in, facts out, and Unknown for the rest.
func observation(r readings) engines.Observation {
	o := engines.Observation{Node: r.self.node, Version: r.self.version, DataBytes: r.dataBytes}
	// Without its name nothing else can be attributed to this member.
	if err := cmp.Or(r.selfErr, r.stateErr); err != nil {
		o.Health.Reason = err.Error()
		if errors.Is(err, syscall.ECONNREFUSED) { // no process, whatever was known before
			o = engines.Observation{Member: engines.MembershipNotLive, Health: o.Health}
		}
		return o
	}
	o.Groups, o.Nodes, o.Health = r.facts.groups, r.facts.nodes, r.facts.health
	switch {
	case !r.state.isLive(o.Node): // ZooKeeper's own list, read just now
		o.Member = engines.MembershipNotLive
	case r.healthErr != nil:
		o.Veto = "the node's own health is unknown: " + r.healthErr.Error()
	case !r.health.connected:
		// ZooKeeper lists the node as live, and the node says otherwise: its session is being lost
		// or renewed, or it stops. The outcome is unknown.
		o.Veto = "the node is listed as live, and says of itself: " + r.health.reason
	default:
		o.Member = engines.MembershipLive
	}
	switch {
	case r.overseerErr != nil:
		o.Veto = "the overseer is unknown: " + r.overseerErr.Error()
	case r.overseer == o.Node:
		o.Roles, o.Last = []string{roleOverseer}, true
	}
	o.Busy = r.busy
	o.Settled = o.Member == engines.MembershipLive && r.settled()
	return o
}

// settled reports whether all copies of the node serve, but for those that are down and that have
// been down for long: waiting longer would not help them.
func (r readings) settled() bool {
	down, words := unfit(r.facts.groups, r.self.node)
	if len(words) == 0 {
		return r.health.settled
	}
	return r.still && down == len(words) && (r.health.settled || r.health.unhealthy <= down)
}

// facts are what a state alone says. Readers share them like the state, and must not change them.
type facts struct {
	groups []engines.Group
	nodes  []engines.Node
	health engines.Health
}

func (c *clusterState) facts() facts {
	f := facts{groups: c.groups(), nodes: c.nodes()}
	f.health = verdict(f.groups, c.isLive)
	return f
}

// observer reads, and keeps what need not be read or decoded again.
type observer struct {
	api *api

	turn chan struct{} // one observation at a time: they share what follows

	self engines.Cached[identity]
	data engines.Cached[int64]

	overseer overseers

	body  bytes.Buffer
	seed  maphash.Seed
	sum   uint64
	state *clusterState
	facts facts

	quiet quiet // of the copies of the own node that are not active
}

const (
	keepIdentity = 30 * time.Second // it changes with the process only
	keepData     = time.Minute
	keepBody     = 1 << 20 // of an answer is in memory, some 3,000 replicas
)

func newObserver(a *api) *observer {
	return &observer{api: a, turn: make(chan struct{}, 1), seed: maphash.MakeSeed()}
}

func (b *observer) observe(ctx context.Context) (engines.Observation, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return engines.Observation{}, ctx.Err()
	}
	var r readings
	var side sync.WaitGroup
	side.Go(func() { r.health, r.healthErr = b.api.health(ctx) })
	r.self, r.selfErr = b.identity(ctx)
	if r.selfErr == nil {
		side.Go(func() {
			r.dataBytes = b.data.GetOrZero(keepData, func() (int64, error) { return b.api.dataBytes(ctx, r.self.version) })
		})
		r.state, r.stateErr = b.clusterState(ctx)
		r.facts = b.facts
	}
	if r.stateErr == nil && r.selfErr == nil {
		r.overseer, r.overseerErr = b.overseerOf(ctx, r.state)
		r.busy = b.overseer.busy()
	}
	side.Wait()
	if ctx.Err() != nil {
		return engines.Observation{}, ctx.Err()
	}
	if r.healthErr != nil || r.stateErr != nil {
		b.self = engines.Cached[identity]{} // perhaps another process answers now
	}
	if r.selfErr != nil || r.stateErr != nil || r.healthErr != nil || !r.health.connected || !r.state.isLive(r.self.node) {
		b.quiet = quiet{}
	} else {
		_, words := unfit(r.facts.groups, r.self.node)
		r.still = b.quiet.look(time.Now(), words)
	}
	return observation(r), nil
}

func (b *observer) identity(ctx context.Context) (identity, error) {
	return b.self.Get(keepIdentity, func() (identity, error) { return b.api.identity(ctx) })
}

// overseerOf asks again when nodes came or went. The call goes through the overseer's queue, which
// is too much for every member once a second.
func (b *observer) overseerOf(ctx context.Context, state *clusterState) (string, error) {
	o := &b.overseer
	if !slices.Equal(o.live, state.live) {
		o.last = engines.Cached[overseer]{}
	}
	ctx, cancel := context.WithTimeout(ctx, sideTime)
	defer cancel()
	answer, err := o.last.Get(o.keep(), func() (overseer, error) {
		answer, err := b.api.overseer(ctx)
		if err == nil {
			o.look(answer)
		}
		return answer, err
	})
	o.live = state.live
	if err != nil || answer.node != "" && !state.isLive(answer.node) {
		o.live = nil // between two overseers
	}
	return answer.node, err
}

// clusterState decodes only what changed: most answers equal the previous one. An answer longer
// than keepBody is decoded as it arrives.
func (b *observer) clusterState(ctx context.Context) (state *clusterState, err error) {
	err = b.api.clusterStatusBody(ctx, "", func(in io.Reader) error {
		var sum maphash.Hash
		sum.SetSeed(b.seed)
		in = io.TeeReader(in, &sum)
		b.body.Reset()
		if _, err := b.body.ReadFrom(io.LimitReader(in, keepBody)); err != nil {
			return err
		}
		if b.body.Len() < keepBody && b.state != nil && sum.Sum64() == b.sum {
			state = b.state
			return nil
		}
		state, err = decodeClusterStatus(io.MultiReader(bytes.NewReader(b.body.Bytes()), in))
		if err != nil {
			b.state, b.facts = nil, facts{}
			return err
		}
		if _, err := io.Copy(io.Discard, in); err != nil {
			return err
		}
		if b.state != nil && sum.Sum64() == b.sum {
			state = b.state
			return nil
		}
		b.state, b.sum, b.facts = state, sum.Sum64(), state.facts()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return state, nil
}
