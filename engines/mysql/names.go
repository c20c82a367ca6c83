package mysql

import (
	"context"
	"net"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
)

const (
	// lookUpWithin bounds the look-up of a name.
	lookUpWithin = time.Second
	// resolvedFor and unresolvedFor are how long a name that resolves, and one that does not, is not
	// looked up again.
	resolvedFor, unresolvedFor = time.Minute, 5 * time.Second
)

// resolution is what the look-up of a name came to.
type resolution struct {
	until time.Time
	why   string // it does not resolve; empty means it does
}

func lookUp(ctx context.Context, host string) error {
	_, err := net.DefaultResolver.LookupHost(ctx, host)
	return err
}

// lookUpNames looks up the names by which the members are followed, those that were not looked up
// lately. The containers of a pod resolve names alike, so a name that does not resolve here is of no
// use to the server beside this agent. It looks up nothing while this member hands over: it has by
// then, and clients wait.
func (e *Engine) lookUpNames(ctx context.Context, v switchover.Input) {
	if e.options.Resolve == nil || v.Mine() {
		return
	}
	var hosts []string
	e.mu.Lock()
	for _, m := range v.All() {
		host, _, err := v.AddressOf(m)
		if err == nil && !replication.IsAddress(host) && time.Now().After(e.resolved[host].until) {
			hosts = append(hosts, host)
		}
	}
	e.mu.Unlock()
	e.each(len(hosts), func(i int) {
		bounded, cancel := context.WithTimeout(ctx, lookUpWithin)
		defer cancel()
		r := resolution{until: time.Now().Add(resolvedFor)}
		if err := e.options.Resolve(bounded, hosts[i]); err != nil {
			r = resolution{until: time.Now().Add(unresolvedFor), why: engines.OneLine(err.Error())}
		}
		if ctx.Err() != nil { // the caller gave up, which says nothing of the name
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.resolved) > mostNames {
			clear(e.resolved)
		}
		e.resolved[hosts[i]] = r
	})
}

const mostNames = 1000

// unresolved are the names that did not resolve when they were looked up last. Callers hold the lock.
func (e *Engine) unresolved() map[string]string {
	out := map[string]string{}
	for host, r := range e.resolved {
		if r.why != "" {
			out[host] = r.why
		}
	}
	return out
}
