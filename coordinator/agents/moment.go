package agents

import (
	"time"

	"github.com/rollcall-dev/rollcall/agent/term"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// began returns when, by our clock, the observation began of a report that has just arrived. It
// returns zero, which is never fresh, for a report that does not say how old it is.
//
// The agent says how old the observation was when it sent the message; it is not known how long the
// message was under way. Taking the time of arrival alone would make an observation that lay in a
// buffer look younger than it is. So the agent's uptime is compared with our clock: the report that
// arrived fastest shows when its run began, which dates the observation as well. The earlier of the
// two times counts. No wall clock is used.
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
