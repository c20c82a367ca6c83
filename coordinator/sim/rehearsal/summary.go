package rehearsal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/sim/oracle"
	"github.com/rollcall-dev/rollcall/coordinator/sim/run"
)

// Summary of a rehearsal: how things really were.
type Summary struct {
	// Kind is "summary": it stands among events.
	Kind Kind `json:"kind"`
	// Seed of the run; 0: it was staged.
	Seed uint64 `json:"seed,omitempty"`
	// RolledOut is true if every pod runs the last template and is back, and nothing is left
	// behind.
	RolledOut bool `json:"rolledOut"`
	// Restarted are the pods that went by Rollcall's hand, in order, and Taken
	// those that others took.
	Restarted []string `json:"restarted"`
	Taken     []string `json:"taken,omitempty"`
	// AwayByRollcall and Away are how many pods were unavailable at once at most, by Rollcall's
	// hand and for whatever reason.
	MaxUnavailable int `json:"maxUnavailable"`
	AwayByRollcall int `json:"unavailableByRollcall"`
	Away           int `json:"unavailable"`
	// FewestCopies of any shard that were active at once, which was Shard's.
	FewestCopies int    `json:"fewestCopies"`
	Copies       int    `json:"copies"`
	Shard        string `json:"shard"`
	// Checked are the invariants that the run was held to, Broken those that did
	// not hold, in the order in which that was seen.
	Checked []string `json:"checked"`
	Broken  []string `json:"broken"`
	// Seconds of virtual time, and the digest of the log, as make sim prints it.
	Seconds float64 `json:"seconds"`
	Log     string  `json:"log"`
}

func summarise(o Options, r run.Result) Summary {
	t := r.Tally
	s := Summary{
		Kind: "summary", Seed: o.Seed, Restarted: append([]string{}, t.Went...), Taken: t.Taken,
		MaxUnavailable: r.Scenario.MaxPods, AwayByRollcall: t.ByHand, Away: t.Away,
		FewestCopies: t.Left, Copies: t.Copies, Shard: t.Shard,
		Broken: []string{}, Seconds: r.Took.Seconds(), Log: r.Sum(),
		RolledOut: r.Stuck == "" && !slices.ContainsFunc(r.Breaks, func(b oracle.Break) bool { return b.Invariant == "L1" || b.Invariant == "L2" }),
	}
	for _, i := range oracle.Invariants {
		if !asked(i.Name, r.Scenario) {
			continue
		}
		s.Checked = append(s.Checked, i.Name)
	}
	for _, b := range r.Breaks {
		s.Broken = append(s.Broken, b.String())
	}
	return s
}

// Err is what was wrong; nil means all is well.
func (s Summary) Err() error {
	if len(s.Broken) == 0 {
		return nil
	}
	return fmt.Errorf("an invariant did not hold: %s", s.Broken[0])
}

// asked is false for invariants of what a world does not have: volumes that are deleted, data that is
// gone with its pod, a primary component.
func asked(invariant string, s run.Scenario) bool {
	switch {
	case invariant == "V3":
		return s.Ephemeral
	case strings.HasPrefix(invariant, "V"):
		return s.Replace
	case strings.HasPrefix(invariant, "G"):
		return s.Galera
	}
	return true
}

// String is the summary as lines.
func (s Summary) String() string {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-24s  %s\n", what, fmt.Sprintf(format, args...))
	}
	verdict := "rolled out"
	if !s.RolledOut {
		verdict = "NOT rolled out"
	}
	line(verdict, "in %s of virtual time", time.Duration(s.Seconds*float64(time.Second)).Round(100*time.Millisecond))
	line("pods restarted", "%d: %s", len(s.Restarted), strings.Join(s.Restarted, " "))
	if len(s.Taken) > 0 {
		line("taken by others", "%d: %s", len(s.Taken), strings.Join(s.Taken, " "))
	}
	line("most unavailable", "%d by Rollcall's hand (%d may be), %d in all", s.AwayByRollcall, s.MaxUnavailable, s.Away)
	line("fewest copies of a shard", "%d of %d (%s)", s.FewestCopies, s.Copies, s.Shard)
	if len(s.Broken) == 0 {
		line("invariants", "%d checked, all kept: %s", len(s.Checked), strings.Join(s.Checked, " "))
	} else {
		line("invariants", "%d checked, broken: %s", len(s.Checked), strings.Join(s.Broken, "; "))
	}
	line("log", "%s", s.Log)
	return b.String()
}
