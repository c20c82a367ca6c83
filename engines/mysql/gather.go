package mysql

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

func (e *Engine) peers() []engines.Peer {
	if e.options.Peers == nil {
		return nil
	}
	return e.options.Peers.List()
}

// gather asks all members for their state, and the local server last, so that no member seems to be
// ahead of it because the local server was looked at earlier.
func (e *Engine) gather(ctx context.Context, t task, fresh bool) (switchover.Input, error) {
	list := e.peers()
	v := switchover.Input{
		Claim: t.claim, Primary: t.primary, Wanted: t.wanted, Waited: t.waited, Eligible: t.eligible, NotAfter: t.notAfter, Wrote: t.wrote, Undoing: t.undoing, Refusals: t.refusals, Limits: e.options.Limits,
		View: topology.View{
			Others: make([]topology.Member, len(list)), MaxLag: e.options.MaxLag, BrokenAfter: e.options.Limits.BrokenAfter, External: e.options.Failover != "", Asked: e.options.Primary,
			Past: e.past(), // as of before the others are looked at
		},
	}
	e.each(len(list), func(i int) {
		v.Others[i] = topology.Member{Peer: list[i], Why: "its agent is unavailable"}
		if list[i].Alive {
			v.Others[i] = e.lookAt(ctx, list[i], fresh)
		}
	})
	sorted.By(v.Others, topology.ByOrdinal)
	v.Self = topology.Member{State: e.local(ctx), Known: true, Peer: engines.Peer{Pod: e.options.Pod, Alive: true}}
	if err := ctx.Err(); err != nil {
		return switchover.Input{}, err
	}
	v.Dropped = t.dropped != nil && *t.dropped
	v.Domains = e.knownDomains(v.Others)
	if fresh || v.Self.Allows() { // a primary says before any order whom nobody can follow
		e.lookUpNames(ctx, v)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	v.Unresolved = e.unresolved()
	v.Again, v.Failed = e.again, e.failed
	v.ClosedElsewhere = e.opened
	v.Ran = !e.ran.IsZero() && e.ran.Equal(v.Self.State.Started)
	v.Chained = e.upstream.See(v.View)
	if v.Followed(e.predecessor) {
		e.predecessor = ""
	}
	v.Fixed = e.fixed
	e.fixed = v.Remembered()
	v.Now = time.Now()
	return v, nil
}

// knownDomains are those that any member has told.
func (e *Engine) knownDomains(others []topology.Member) replication.Domains {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range others {
		e.domains.Join(m.State.Domains)
	}
	return e.domains.Clone()
}

// after looks at the member again, after the local server: the local server may receive what the
// member writes, and must not seem to be ahead of it.
func (e *Engine) after(ctx context.Context, v switchover.Input, name string) topology.Member {
	m, listed := v.Find(name)
	if !listed {
		return m
	}
	return e.lookAt(ctx, m.Peer, true)
}

func (e *Engine) lookAt(ctx context.Context, peer engines.Peer, fresh bool) topology.Member {
	told, why := engines.Hear(ctx, e.options.Peers, peer, e.options.Timeout, fresh, func(s replication.State) string {
		if s.Node != peer.Node {
			return engines.CallsItself(s.Node)
		}
		return ""
	})
	return topology.Member{Peer: peer, State: told, Known: why == "", Why: why}
}
