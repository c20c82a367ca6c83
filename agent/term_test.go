package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/agent/term"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// An order that was under way for longer than it is good for, or that comes again
// then, is over, and so is one for the run before. What an agent tells is all that its
// sender has to know.
func TestOrderThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBoard(proto.CloneOf(identity), slog.New(slog.DiscardHandler))
		s := &service{board: b}
		time.Sleep(time.Hour)
		v, _ := b.newest()
		report := v.report(time.Now(), false)
		time.Sleep(2 * time.Second) // the report is under way
		var sender term.Clock
		sender.Hear(report.GetIdentity().GetIncarnation(), report.GetUptime(), time.Now())
		until := time.Now().Add(30 * time.Second)
		order := sender.Term(until)

		time.Sleep(20 * time.Second)
		end, err := s.endOf(order)
		require.NoError(t, err)
		require.Equal(t, until.Add(-2*time.Second), end, "sooner by the journey, and never later")

		time.Sleep(time.Until(end))
		for range 2 {
			_, err = s.endOf(order)
			requireRefused(t, err, codes.FailedPrecondition, ReasonExpired)
			time.Sleep(time.Hour)
		}
		s.board = newBoard(&rollcallv1.Identity{Incarnation: 3}, slog.New(slog.DiscardHandler))
		_, err = s.endOf(order)
		requireRefused(t, err, codes.FailedPrecondition, ReasonOtherRun)
		_, err = s.endOf(nil)
		requireRefused(t, err, codes.FailedPrecondition, ReasonNoTerm)
		require.ErrorContains(t, err, "older version")
	})
}

// Runs of an agent are numbered upwards in the order in which they are, whatever the
// node's clock does.
func TestRunsAreNumberedUpwards(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s := store{t.TempDir(), "uid"}
	next := func(at time.Time) uint64 {
		n, err := s.nextRun(at)
		require.NoError(t, err)
		return n
	}
	first := next(now)
	require.EqualValues(t, now.UnixNano(), first)
	require.Equal(t, first+1, next(now.Add(-time.Hour)), "its clock went back")
	require.Equal(t, first+2, next(now.Add(-100*365*24*time.Hour)), "to before 1970")
	require.EqualValues(t, now.Add(time.Minute).UnixNano(), next(now.Add(time.Minute)))
	other, err := store{s.dir, "uid-2"}.nextRun(now)
	require.NoError(t, err)
	require.Equal(t, first, other, "another pod's")

	// Without a state that can be read there is the clock, and the agent runs.
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, runFile), nil, 0o600))
	n, err := s.nextRun(now)
	require.ErrorContains(t, err, runFile)
	require.Equal(t, first, n)
	require.Equal(t, first+1, next(now), "it is there again")
	n, err = store{}.nextRun(now)
	require.NoError(t, err)
	require.Equal(t, first, n)
}

// An agent that restarts is a later run than the one before.
func TestRestartedAgentIsALaterRun(t *testing.T) {
	dir := t.TempDir()
	future := time.Now().Add(time.Hour)
	_, err := store{dir, "uid-0"}.nextRun(future)
	require.NoError(t, err)
	r := newRing(t, nil)
	m := r.start(0, func(o *Options) { o.StateDir = dir })
	require.EqualValues(t, future.UnixNano()+1, m.agent.board.run.Incarnation)
	require.Equal(t, m.agent.board.run.Incarnation, m.agent.identity().Incarnation-1, "each is another")
}
