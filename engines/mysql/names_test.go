package mysql

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

func called(name string) topology.Member {
	return topology.Member{State: replication.State{Node: name}}
}

// TestNamesAreLookedUp checks which names are looked up and how often: whole ones, and bare ones with
// what is known to follow them. A handover that has begun looks up nothing.
func TestNamesAreLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		missing := map[string]bool{"db-1.wrong": true}
		e := newEngine(nil, Options{Resolve: func(_ context.Context, host string) error {
			asked = append(asked, host)
			if missing[host] {
				return errors.New("no such host")
			}
			return nil
		}})
		e.each = func(n int, f func(int)) {
			for i := range n {
				f(i)
			}
		}
		v := switchover.Input{View: topology.View{
			Self: called("db-0.db"), Others: []topology.Member{called("db-1.wrong"), called("bare-2:3307"), called("unknown-3"), called("10.0.0.4")},
			Domains: replication.Domains{"bare": ".bare.ns"},
		}}
		v.Self.State.Switch = &replication.Switch{From: "db-0.db"}
		e.lookUpNames(t.Context(), v)
		require.Empty(t, asked, "clients wait")

		v.Self.State.Switch = nil
		e.lookUpNames(t.Context(), v)
		require.ElementsMatch(t, []string{"db-0.db", "db-1.wrong", "bare-2.bare.ns"}, asked)
		require.Equal(t, map[string]string{"db-1.wrong": "no such host"}, e.unresolved())

		asked = nil
		e.lookUpNames(t.Context(), v)
		require.Empty(t, asked, "it was, a moment ago")
		time.Sleep(unresolvedFor + time.Second)
		missing = nil
		e.lookUpNames(t.Context(), v)
		require.Equal(t, []string{"db-1.wrong"}, asked, "one that may have come since is looked up again soon")
		require.Empty(t, e.unresolved())

		given, cancel := context.WithCancel(t.Context())
		cancel()
		missing = map[string]bool{"db-0.db": true}
		time.Sleep(resolvedFor)
		e.lookUpNames(given, v)
		require.Empty(t, e.unresolved(), "who gives up has learned nothing")
	})
}
