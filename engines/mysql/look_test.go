package mysql

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// slowServer returns a look after a time, and does nothing else.
type slowServer struct {
	database
	takes time.Duration
}

func (s *slowServer) Look(ctx context.Context) (replication.State, error) {
	select {
	case <-time.After(s.takes):
		return replication.State{Node: "a", Serving: true, Writes: replication.Allowed, Looked: time.Now()}, nil
	case <-ctx.Done():
		return replication.State{Looked: time.Now()}, ctx.Err()
	}
}

// TestLooksThatNobodyWaitsForTellNothing checks that who asks for a look and goes away before it
// has ended, as an agent that restarts or a prober that has to begin again, makes no other member
// believe that this server does not serve.
func TestLooksThatNobodyWaitsForTellNothing(t *testing.T) {
	ask := func(e *Engine, ctx context.Context, fresh bool) replication.State {
		text, err := e.Look(ctx, fresh)
		if err != nil {
			return replication.State{}
		}
		var s replication.State
		require.NoError(t, json.Unmarshal(text, &s))
		return s
	}
	for name, goAway := range map[string]func(e *Engine, ctx context.Context){
		"another agent":         func(e *Engine, ctx context.Context) { ask(e, ctx, true) },
		"a look at an interval": func(e *Engine, ctx context.Context) { _, _ = e.Observe(ctx) },
		"another agent, out of time": func(e *Engine, ctx context.Context) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 100*time.Millisecond)
			defer cancel()
			ask(e, ctx, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowServer{takes: time.Millisecond}
				e := newEngine(s, Options{Access: web.Access{Timeout: time.Second}})
				require.True(t, ask(e, t.Context(), true).Serving)
				s.takes = 900 * time.Millisecond
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(100*time.Millisecond, cancel)
				goAway(e, ctx)
				require.True(t, ask(e, t.Context(), false).Serving)

				s.takes = time.Hour
				ask(e, t.Context(), true)
				require.False(t, ask(e, t.Context(), false).Serving, "a server that does not answer in its own time does not serve")
			})
		})
	}
}
