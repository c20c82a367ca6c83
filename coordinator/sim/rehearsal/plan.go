package rehearsal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// teller makes events of what one coordinator decides: each thing once, when it
// begins to be so.
type teller struct {
	who    string
	events *[]Event
	steps  map[string]bool
	// open are the events of what is so, by what it is; ended those of what was.
	open, ended map[string]int
}

func newTeller(who string, events *[]Event) *teller {
	return &teller{who: who, events: events, open: map[string]int{}, ended: map[string]int{}}
}

// decided adds what is new in a decision.
func (t *teller) decided(at time.Duration, d status.Decision) {
	now := map[string]bool{}
	tell := func(e Event, key string) {
		now[key] = true
		t.begin(at, key, e)
	}
	phase := fmt.Sprintf("phase  %s: %d of %d updated", d.Phase, d.Pods.Updated, d.Pods.Desired)
	if d.Pods.Failed > 0 {
		phase += fmt.Sprintf(", %d failed", d.Pods.Failed)
	}
	tell(Event{Kind: Phase, Text: phase}, phase)
	if len(d.Plan.Order) > 0 {
		line, _, _ := strings.Cut(d.Plan.Text(), "\n")
		tell(Event{Kind: Order, Text: line, Pods: d.Plan.Order}, line)
	}
	steps := map[string]bool{}
	for _, s := range d.Plan.Steps {
		steps[s.Text()] = true
		if !t.steps[s.Text()] {
			t.add(Event{At: at, Kind: Go, Text: s.Text(), Pods: []string{s.Pod}})
		}
	}
	t.steps = steps
	for _, c := range d.Claims {
		text := fmt.Sprintf("claim  %s %s", c.Pod, c.Phase)
		tell(Event{Kind: Claim, Text: text, Pods: []string{c.Pod}}, text+c.ID)
	}
	t.holds(d.Plan.Holds, tell)
	for key, i := range t.open {
		if !now[key] {
			(*t.events)[i].until = at
			t.ended[key] = i
			delete(t.open, key)
		}
	}
}

// holds tells those of one reason as one, and none of a pod that is claimed or
// that is held as everybody is.
func (t *teller) holds(holds []model.Hold, tell func(Event, string)) {
	everybody := map[model.Rule]bool{}
	for _, h := range holds {
		if h.Pod == "" {
			everybody[h.Rule] = true
		}
	}
	type same struct {
		rule          model.Rule
		group, reason string
	}
	pods := map[same][]string{}
	var first []model.Hold
	for _, h := range holds {
		if h.Rule == model.RuleClaimed || h.Pod != "" && everybody[h.Rule] {
			continue
		}
		key := same{h.Rule, h.Group, h.Reason}
		if pods[key] == nil {
			first = append(first, h)
		}
		pods[key] = append(pods[key], h.Pod)
	}
	for _, h := range first {
		all := pods[same{h.Rule, h.Group, h.Reason}]
		text := h.Text()
		if more := all[1:]; len(more) > 0 {
			text += " (and " + strings.Join(more, ", ") + ")"
		}
		// A reason that counts on is still the same hold.
		tell(Event{Kind: Hold, Text: text, Pods: slices.DeleteFunc(all, func(p string) bool { return p == "" }), Rule: string(h.Rule)},
			fmt.Sprintf("hold %s %s %s", h.Pod, h.Rule, h.Group))
	}
}

// begin adds an event unless it is so already. What was not so for a moment only
// has not ended.
func (t *teller) begin(at time.Duration, key string, e Event) {
	if _, is := t.open[key]; is {
		return
	}
	if i, was := t.ended[key]; was && at-(*t.events)[i].until < brief {
		(*t.events)[i].until = 0
		t.open[key] = i
		return
	}
	e.At = at
	t.open[key] = t.add(e)
}

func (t *teller) add(e Event) int {
	e.Who = t.who
	*t.events = append(*t.events, e)
	return len(*t.events) - 1
}

// gone ends all that was so.
func (t *teller) gone(at time.Duration) {
	for key, i := range t.open {
		(*t.events)[i].until = at
		delete(t.open, key)
	}
}
