package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Whoever waits for a verdict reads what the agents wait for.
func TestWhyThereIsNoVerdict(t *testing.T) {
	silent := func(why string) func(r *rollcallv1.Report) {
		return func(r *rollcallv1.Report) {
			r.Verdict, r.VerdictReason = rollcallv1.Verdict_VERDICT_UNSPECIFIED, why
		}
	}
	locked := func(why string) func(r *rollcallv1.Report) {
		return func(r *rollcallv1.Report) {
			silent(why)(r)
			r.Member = unsaid
		}
	}
	for name, c := range map[string]struct {
		edits []edit
		want  model.Health
	}{
		"one says why":    {[]edit{says(0, silent("")), says(1, silent("not known: search-2 does not answer")), says(2, silent(""))}, model.Health{Verdict: model.VerdictUnknown, Reason: "no agent gives a verdict: not known: search-2 does not answer"}},
		"nobody says why": {[]edit{says(0, silent("")), says(1, silent("")), says(2, silent(""))}, model.Health{Verdict: model.VerdictUnknown, Reason: "no agent gives a verdict"}},
		"another has one": {[]edit{says(1, silent("not known: search-2 does not answer"))}, model.Health{Verdict: model.VerdictGreen}},
		"nobody is heard": {[]edit{noReport(0), noReport(1), noReport(2)}, model.Health{Verdict: model.VerdictUnknown, Reason: "no fresh report of a live member"}},
		"nobody may ask": {[]edit{says(0, locked("")), says(1, locked("opensearch answered 401 Unauthorized")), says(2, locked("x"))},
			model.Health{Verdict: model.VerdictUnknown, Reason: "no fresh report of a live member: search-1: opensearch answered 401 Unauthorized"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Join(made(c.edits...)).Health) })
	}
}
