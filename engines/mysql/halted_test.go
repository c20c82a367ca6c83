package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestHaltedSince checks that an agent notes when it first saw that its server does not replicate,
// as long as that lasts and the server runs on.
func TestHaltedSince(t *testing.T) {
	e := newEngine(nil, Options{})
	began := time.Now()
	look := func(after time.Duration, edit func(s *replication.State)) time.Time {
		s := replication.State{Looked: began.Add(after), Started: began, Writes: replication.RefusedAtStart, Source: &replication.Source{Receiving: true, Applying: true}}
		edit(&s)
		return e.halt(s)
	}
	stopped := func(s *replication.State) { s.Source.Applying = false }
	require.Zero(t, look(0, func(*replication.State) {}))
	require.Equal(t, began.Add(time.Second), look(time.Second, stopped))
	require.Equal(t, began.Add(time.Second), look(time.Minute, func(s *replication.State) { s.Source = nil }))
	restarted := func(s *replication.State) { s.Started = began.Add(2 * time.Minute); stopped(s) }
	require.Equal(t, began.Add(3*time.Minute), look(3*time.Minute, restarted), "a start may mend it")
	require.Equal(t, began.Add(3*time.Minute), look(4*time.Minute, restarted))
	require.Equal(t, began.Add(3*time.Minute), look(5*time.Minute, func(s *replication.State) { s.Writes = replication.Allowed; restarted(s) }), "of a fixed primary")
	require.Zero(t, look(5*time.Minute, func(s *replication.State) { s.Writes = replication.Allowed; restarted(s); s.Source = nil }))
	require.Zero(t, look(5*time.Minute, func(*replication.State) {}))
}
