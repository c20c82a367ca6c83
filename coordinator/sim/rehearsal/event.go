package rehearsal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Kind of an event.
type Kind string

// The kinds. Those of a plan have the words of rollcall plan.
const (
	World  Kind = "world"  // what is rehearsed, and that it ends
	Acts   Kind = "acts"   // somebody or something does something
	Fault  Kind = "fault"  // and what is done to it
	Phase  Kind = "phase"  // of the cluster, and how far the rollout is
	Order  Kind = "order"  // in which pods are considered
	Go     Kind = "go"     // a step that is taken
	Hold   Kind = "hold"   // a rule that holds pods
	Claim  Kind = "claim"  // a claim is in another phase
	Call   Kind = "call"   // a request to Kubernetes or to an agent
	Broken Kind = "broken" // an invariant did not hold
)

// Event is one line of the timeline.
type Event struct {
	At   time.Duration
	Who  string
	Kind Kind
	Text string
	// Pods that it is about, and the rule of a hold.
	Pods []string
	Rule string

	// until is when it was no longer so; the zero value: it is not about how long.
	until time.Duration
}

// brief is what has passed before a person has read it.
const brief = time.Second

// detail reports whether the event is shown only on request.
func (e Event) detail() bool {
	return e.Kind == Call || e.until > 0 && e.until-e.At < brief
}

// Clock is a time as the timeline shows it.
func Clock(at time.Duration) string {
	at = at.Truncate(time.Millisecond)
	return fmt.Sprintf("%d:%06.3f", at/time.Minute, (at % time.Minute).Seconds())
}

// String is the event as a line.
func (e Event) String() string {
	return fmt.Sprintf("%9s  %-11s  %s", Clock(e.At), e.Who, e.Text)
}

// MarshalJSON has times in seconds.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		At   float64  `json:"at"`
		Who  string   `json:"who"`
		Kind Kind     `json:"kind"`
		Text string   `json:"text"`
		Pods []string `json:"pods,omitempty"`
		Rule string   `json:"rule,omitempty"`
	}{e.At.Seconds(), e.Who, e.Kind, e.Text, e.Pods, e.Rule})
}

// names of who acts, where the log's are short.
var names = map[string]string{"ORACLE": "oracle", "db": "database", "sts": "statefulset"}

// said makes an event of a line of the log.
func said(at time.Duration, who, what string) Event {
	e := Event{At: at, Who: who, Kind: Acts, Text: what}
	switch {
	case who == "world":
		e.Kind = World
	case who == "fault":
		e.Kind = Fault
	case who == "ORACLE":
		e.Kind = Broken
		if !strings.Contains(what, ": ") { // that a pod goes, which is a request too
			e.Kind = Call
		}
	case coordinator(who) && what == "starts":
		e.Text = "starts as coordinator"
	case coordinator(who) && !removes(what) && what != "crashes":
		e.Kind = Call
	}
	if name := names[who]; name != "" {
		e.Who = name
	}
	return e
}

func coordinator(who string) bool { return who[0] == 'c' }

// removes reports whether a line is about a request to remove a pod.
func removes(what string) bool {
	return strings.HasPrefix(what, "evict pod ") || strings.HasPrefix(what, "delete pod ")
}
