package view

import (
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// health returns the worst verdict of the witnesses, made worse still by a red headline, and
// unknown if no witness gives one.
func (w *world) health() model.Health {
	h := model.Health{Verdict: model.VerdictUnknown, Reason: "no fresh report of a live member", Disagree: strings.Join(w.disagree, "; ")}
	worst := rollcallv1.Verdict_VERDICT_UNSPECIFIED
	for _, i := range w.witnesses {
		r := w.pods[i].report
		if v := r.GetVerdict(); v > worst && v <= rollcallv1.Verdict_VERDICT_RED {
			worst = v
			h.Reason = r.GetVerdictReason()
		}
	}
	if worst == rollcallv1.Verdict_VERDICT_UNSPECIFIED {
		if len(w.witnesses) > 0 {
			h.Reason = "no agent gives a verdict" + w.doubts()
		} else {
			h.Reason += w.complaint()
		}
		return h
	}
	for i := range w.pods {
		if saysRed(w.pods[i].gossip()) && worst < rollcallv1.Verdict_VERDICT_RED {
			worst = rollcallv1.Verdict_VERDICT_RED
			h.Reason = "the gossip has it so from " + w.pods[i].name
		}
	}
	h.Verdict = verdicts[worst]
	return h
}

// doubts returns the first reason that a witness gives for having no verdict.
func (w *world) doubts() string {
	for _, i := range w.witnesses {
		if why := w.pods[i].report.GetVerdictReason(); why != "" {
			return ": " + why
		}
	}
	return ""
}

// complaint returns the first reason that an agent gives, whether or not its member is live: where no
// agent can ask its database, it says what has to be changed.
func (w *world) complaint() string {
	for i := range w.pods {
		p := &w.pods[i]
		if p.report == nil || !p.fresh || !p.running() {
			continue
		}
		if why := p.report.GetVerdictReason(); why != "" {
			return ": " + p.name + ": " + why
		}
	}
	return ""
}

var verdicts = map[rollcallv1.Verdict]model.Verdict{
	rollcallv1.Verdict_VERDICT_GREEN:       model.VerdictGreen,
	rollcallv1.Verdict_VERDICT_RECOVERABLE: model.VerdictRecoverable,
	rollcallv1.Verdict_VERDICT_YELLOW:      model.VerdictYellow,
	rollcallv1.Verdict_VERDICT_RED:         model.VerdictRed,
}
