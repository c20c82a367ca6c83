package rehearsal

import (
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/sim/run"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// Rehearsal is one that is over.
type Rehearsal struct {
	// Events in the order of their time. Only some of them are for everybody.
	Events  []Event
	Summary Summary
}

// Run rehearses. The same options give the same rehearsal.
func Run(o Options) (Rehearsal, error) {
	s, err := o.scenario()
	if err != nil {
		return Rehearsal{}, err
	}
	events := []Event{{Who: "world", Kind: World, Text: stage(s)}, {Who: "world", Kind: World, Text: unlike(s)}}
	for _, f := range s.Faults {
		text := "to come: " + f.String() + " at " + Clock(f.At)
		if f.For > 0 {
			text += " for " + f.For.Round(time.Millisecond).String()
		}
		events = append(events, Event{Who: "fault", Kind: Fault, Text: text})
	}
	tellers := map[string]*teller{}
	result, err := run.Watched(s, run.Observer{
		Said: func(at time.Duration, who, what string) {
			if t := tellers[who]; t != nil && what == "crashes" {
				t.gone(at)
			}
			if strings.HasPrefix(what, "seed ") && who == "world" {
				return // the stage, in other words
			}
			events = append(events, said(at, who, what))
		},
		Decided: func(at time.Duration, who string, d status.Decision) {
			if tellers[who] == nil {
				tellers[who] = newTeller(who, &events)
			}
			tellers[who].decided(at, d)
		},
	})
	if err != nil {
		return Rehearsal{}, err
	}
	for _, t := range tellers {
		t.gone(result.Took)
	}
	return Rehearsal{Events: events, Summary: summarise(o, result)}, nil
}

// Clean removes what rehearsals have left on the disk. None can be run after it.
func Clean() { run.Clean() }

// Timeline is what to show: everything, or what lasts long enough to be read and
// is not only a request.
func (r Rehearsal) Timeline(everything bool) []Event {
	var out []Event
	for _, e := range r.Events {
		if everything || !e.detail() {
			out = append(out, e)
		}
	}
	return out
}
