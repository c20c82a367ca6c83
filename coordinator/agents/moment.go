package agents

import (
	"time"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// moment tells when, by our clock, the observation of a streamed report began.
//
// The agent says how old the observation was when it sent the message; how long
// the message was under way nobody knows. Taking the time of arrival alone would
// make an observation that lay in a buffer look younger than it is. So the
// agent's clock is compared with ours: the smallest difference seen on a stream
// is the clocks' difference plus the quickest journey, and by it the agent's own
// time of the observation is read. The earlier of both answers counts, so a
// jump of one clock can only make a report look older, and that only until the
// differences from before the jump are forgotten.
type moment struct {
	known bool
	// newest and older are the smallest (our time of arrival - agent's time of
	// sending) of the present period and of the one before.
	newest, older time.Duration
	begun         time.Time // of the present period
}

// period is how long differences of clocks are remembered, at least.
const period = time.Minute

// began answers zero, which is never fresh, for a report that does not say how
// old it is.
func (m *moment) began(r *rollcallv1.Report, arrived time.Time) time.Time {
	if r.GetAge() == nil || r.GetAge().CheckValid() != nil {
		return time.Time{}
	}
	age := max(0, r.GetAge().AsDuration())
	at := arrived.Add(-age)
	if r.GetObservedAt() == nil || r.GetObservedAt().CheckValid() != nil {
		return at
	}
	observed := r.GetObservedAt().AsTime()
	if byAgent := observed.Add(m.offset(arrived, arrived.Sub(observed.Add(age)))); byAgent.Before(at) {
		return byAgent
	}
	return at
}

// offset takes one more difference and answers the smallest.
func (m *moment) offset(now time.Time, difference time.Duration) time.Duration {
	switch {
	case !m.known:
		m.known, m.begun, m.newest, m.older = true, now, difference, difference
	case now.Sub(m.begun) >= period:
		m.begun, m.newest, m.older = now, difference, m.newest
	}
	m.newest = min(m.newest, difference)
	return min(m.newest, m.older)
}
