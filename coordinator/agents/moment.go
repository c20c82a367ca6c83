package agents

import (
	"time"

	"github.com/rollcall-dev/rollcall/agent/term"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// began tells when, by our clock, the observation of a report began that has
// arrived just now; zero, which is never fresh, for one that does not say how old
// it is.
//
// The agent says how old the observation was when it sent the message; how long
// the message was under way nobody knows. Taking the time of arrival alone would
// make an observation that lay in a buffer look younger than it is. So the
// agent's uptime is compared with our clock: by the report that came quickest it
// is known when its run began, and by that the observation is dated, too. The
// earlier of both answers counts. No wall clock is asked.
func began(c *term.Clock, r *rollcallv1.Report, arrived time.Time) time.Time {
	if r.GetAge() == nil || r.GetAge().CheckValid() != nil {
		return time.Time{}
	}
	age := max(0, r.GetAge().AsDuration())
	at := arrived.Add(-age)
	c.Hear(r.GetIdentity().GetIncarnation(), r.GetUptime(), arrived)
	if started, known := c.Started(); known {
		if byAgent := started.Add(r.GetUptime().AsDuration() - age); byAgent.Before(at) {
			return byAgent
		}
	}
	return at
}
