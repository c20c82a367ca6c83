package serve

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/term"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// An order that was under way for longer than it is good for, or that comes again
// then, is over, and so is one for the run before. What an agent tells is all that its
// sender has to know.
func TestOrderThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := probe.NewBoard(&rollcallv1.Identity{Pod: "search-0", PodUid: "uid-0", Zone: "z1", Incarnation: 7}, slog.New(slog.DiscardHandler))
		s := &Service{Board: b}
		time.Sleep(time.Hour)
		v, _ := b.Latest()
		report := v.Report(time.Now(), false)
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
			agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonExpired)
			time.Sleep(time.Hour)
		}
		s.Board = probe.NewBoard(&rollcallv1.Identity{Incarnation: 3}, slog.New(slog.DiscardHandler))
		_, err = s.endOf(order)
		agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonOtherRun)
		_, err = s.endOf(nil)
		agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonNoTerm)
		require.ErrorContains(t, err, "older version")
	})
}
