package rehearsal

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// Outcome is the outcome of a change that was rolled under load and under witness.
type Outcome struct {
	Took time.Duration `json:"took"`
	Load load.Stats    `json:"load"`
	// Alone is what became of requests to collections with one copy.
	Alone   load.Stats     `json:"alone"`
	Witness witness.Report `json:"witness"`
	// Lost are acknowledged documents that are not there afterwards, by collection.
	Lost map[string]int `json:"lost"`
	// Excused are those that Rehearsal.Excused takes for the database's own fault.
	Excused []string `json:"excused,omitempty"`
	// Gone says which these are, and which copies have them.
	Gone []string `json:"gone,omitempty"`
}

// LostDocs counts all of them.
func (o Outcome) LostDocs() int {
	lost := 0
	for _, n := range o.Lost {
		lost += n
	}
	return lost
}

// String is one line for people.
func (o Outcome) String() string {
	shard, away := o.Witness.WorstShard()
	text := fmt.Sprintf("%s; %d of %d requests failed (%d retried, slowest %s); %d acknowledged documents lost; at most %d pods unavailable together; at most %d replicas of one shard unavailable (%s)",
		o.Took.Round(time.Second), o.Load.Failed, o.Load.Requests, o.Load.Retried, o.Load.Slowest.Round(10*time.Millisecond), o.LostDocs(), o.Witness.MaxPodsAway, away, shard)
	if o.Alone.Requests > 0 {
		text += fmt.Sprintf("; of what has one copy only, %d of %d requests failed while that was unavailable", o.Alone.Failed, o.Alone.Requests)
	}
	if o.Load.Writes != nil {
		text += "; " + o.Load.Writes.String()
	}
	return text
}

// Explain writes the failures of an outcome.
func (o Outcome) Explain(w io.Writer) {
	for _, f := range o.Load.Failures {
		_, _ = fmt.Fprintln(w, "  failed:", f)
	}
	for _, shard := range slices.Sorted(maps.Keys(o.Witness.Together)) {
		for _, note := range o.Witness.Together[shard] {
			_, _ = fmt.Fprintf(w, "  unavailable together: %s: %s\n", shard, note)
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(o.Witness.Leaderless)) {
		_, _ = fmt.Fprintf(w, "  led by nobody: %s, %d looks\n", shard, o.Witness.Leaderless[shard])
	}
	for _, g := range o.Gone {
		_, _ = fmt.Fprintln(w, "  gone:", g)
	}
	for _, g := range o.Excused {
		_, _ = fmt.Fprintln(w, "  gone by the database's own fault:", g)
	}
	for i, x := range o.Witness.Restarts {
		only := ""
		if len(x.Only) > 0 {
			only = " with the only copy of " + strings.Join(x.Only, ", ")
		}
		if len(x.Led) > 0 {
			only += " leading " + strings.Join(x.Led, ", ")
		}
		_, _ = fmt.Fprintf(w, "  restart %d: %s at %s elected=%t%s\n", i+1, x.Pod, x.At.Format("15:04:05"), x.Elected, only)
	}
}
