package status

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// answersWithin is how long a server may take to answer its agent from when its pod is Ready.
const answersWithin = 30 * time.Second

// unknown reports a pod whose agent still cannot ask its server answersWithin after the pod became
// Ready, with what the agent says of it if the health of the database is not known because of that.
func (t *transition) unknown() {
	for _, p := range t.to.Snapshot.Pods {
		since := p.Since.Time
		if p.Phase != model.PodPhaseReady || p.Report == nil || p.Report.Member != model.MembershipUnknown || since.IsZero() {
			continue
		}
		due := since.Add(answersWithin)
		if !t.from.Snapshot.Now.Before(due) || t.to.Snapshot.Now.Before(due) {
			continue
		}
		why := ""
		if h := t.to.Snapshot.Health; h.Verdict == model.VerdictUnknown {
			why = ": " + h.Reason
		}
		t.add(p.Name, p.UID, true, EventMemberUnknown, "%s: has been Ready for %s, and its agent cannot tell whether it is a member%s", p.Name, answersWithin, why)
	}
}
