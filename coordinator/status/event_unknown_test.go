package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// TestEventOfAnAgentThatCannotAsk comes once, and not while a server may still be starting.
func TestEventOfAnAgentThatCannotAsk(t *testing.T) {
	at := func(d time.Duration, changes ...func(s *model.Snapshot)) Decision {
		return search(t, append([]func(s *model.Snapshot){claimed(model.PhaseGone), func(s *model.Snapshot) {
			p := podOf(s, "search-1")
			p.Phase, p.Since, p.Report.Member = model.PodPhaseReady, s.Now, model.MembershipUnknown
			s.Health = model.Health{Verdict: model.VerdictUnknown, Reason: "search-1: the password in Secret agents is wrong"}
		}, later(d)}, changes...)...)
	}
	start, before, due, after := at(0), at(29*time.Second), at(31*time.Second), at(40*time.Second)
	require.NotContains(t, reasons(Events(&start, before)), EventMemberUnknown)
	e := eventOf(t, Events(&before, due), EventMemberUnknown)
	require.True(t, e.Warning)
	require.Equal(t, "search-1", e.Pod)
	require.Equal(t, "search-1: has been Ready for 30s, and its agent cannot tell whether it is a member: search-1: the password in Secret agents is wrong", e.Note)
	require.NotContains(t, reasons(Events(&due, after)), EventMemberUnknown, "once")

	live := func(s *model.Snapshot) { podOf(s, "search-1").Report.Member = model.MembershipLive }
	require.NotContains(t, reasons(Events(&before, at(31*time.Second, live))), EventMemberUnknown)
}
