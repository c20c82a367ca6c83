package foundationdb

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// What fdbcli prints, read as text: its exit codes say nothing (an exclusion that
// is in progress ends with 0), and what goes wrong may be on either stream.

// complaint is the first line in which fdbcli says that it did not do what it was told; empty means
// there is none.
func (a answer) complaint() string {
	for _, text := range []string{a.stderr, a.stdout} {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			for _, sign := range []string{"ERROR:", "Usage:", "usage:", "Unable to", "FATAL"} {
				if strings.HasPrefix(line, sign) {
					return line
				}
			}
		}
	}
	return ""
}

// done is nil unless fdbcli complained.
func (a answer) done(command string) error {
	if words := a.complaint(); words != "" {
		return fmt.Errorf("%s: %w: %s", command, ErrCommand, engines.OneLine(words))
	}
	return nil
}

// exclusion is what exclude says of each address or locality.
type exclusion struct {
	safe     []string // excluded; it is safe to remove them
	open     []string // in progress, or words that are not known
	away     []string // missing from the cluster, or without a match
	noSpace  bool     // too little space would be left
	unknown  bool     // what it would do to the space could not be found out yet
	refusals string   // any other error
}

const (
	noSpaceWords      = "less than 10% of the space would be left without the pod"
	unknownSpaceWords = "fdbcli could not find out yet how much space would be left"
)

const separator = "  ---- "

// readExclusion reads what exclude printed, in its blocking form or not.
func readExclusion(a answer) exclusion {
	var e exclusion
	for _, text := range []string{a.stdout, a.stderr} {
		for line := range strings.Lines(text) {
			e.line(strings.TrimRight(line, "\r\n"))
		}
	}
	return e
}

func (e *exclusion) line(line string) {
	trimmed := strings.TrimSpace(line)
	target, words, split := strings.Cut(line, separator)
	switch {
	case split && strings.HasPrefix(words, "Successfully excluded. It is now safe to remove this "):
		e.safe = append(e.safe, strings.TrimSuffix(strings.TrimSpace(target), "(Whole machine)"))
	case split && (strings.HasPrefix(words, "WARNING: Currently no servers found with this locality match") || strings.HasPrefix(words, "WARNING: Missing from cluster!")):
		e.away = append(e.away, trimmed)
	case split:
		e.open = append(e.open, trimmed)
	case strings.HasPrefix(trimmed, "WARNING: ") && strings.HasSuffix(trimmed, " is a coordinator!"):
		e.open = append(e.open, trimmed)
	case strings.HasPrefix(trimmed, "ERROR: This exclude may cause the total"):
		e.noSpace = true
	case strings.HasPrefix(trimmed, "ERROR: Could not calculate the impact of this exclude"):
		e.unknown = true
	case strings.HasPrefix(trimmed, "ERROR:"):
		if e.refusals == "" {
			e.refusals = trimmed
		}
	}
}

// frees reports whether it says of every process that it is safe to remove it, and of nothing else
// that it is not.
func (e exclusion) frees(processes []process) (bool, string) {
	switch why := e.objection(); {
	case why != "":
		return false, why
	case len(e.away) > 0:
		return false, e.away[0]
	case len(processes) == 0:
		return false, "no process of the pod is there to ask about"
	}
	for _, p := range processes {
		if !e.mentions(p.address) {
			return false, "nothing was said of " + endpoint(p.address)
		}
	}
	return true, ""
}

// freesAbsent tells, of a pod without a process, whether what it was has nothing left.
// Only of an exclusion that was waited for.
func (e exclusion) freesAbsent() (bool, string) {
	switch why := e.objection(); {
	case why != "":
		return false, why
	case len(e.safe)+len(e.away) == 0:
		return false, "nothing was said of the pod"
	}
	return true, ""
}

// objection is why nothing may be removed, whatever is said of others; empty means none.
func (e exclusion) objection() string {
	switch {
	case e.refusals != "":
		return e.refusals
	case e.noSpace:
		return noSpaceWords
	case e.unknown:
		return unknownSpaceWords
	case len(e.open) > 0:
		return e.open[0]
	}
	return ""
}

func (e exclusion) mentions(address string) bool {
	for _, safe := range e.safe {
		if endpoint(safe) == endpoint(address) || safe == ipOf(address) {
			return true
		}
	}
	return false
}

// readMaintenance reads what maintenance without arguments prints: the zone, empty
// when there is none, and the seconds that are left.
func readMaintenance(text string) (zone string, seconds float64, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "No ongoing maintenance." {
			return "", 0, nil
		}
		rest, ok := strings.CutPrefix(line, "Maintenance for zone ")
		if !ok {
			continue
		}
		zone, left, ok := cutLast(rest, " will continue for ")
		if !ok || zone == "" {
			continue
		}
		number, ok := strings.CutSuffix(left, " seconds.")
		if seconds, err = strconv.ParseFloat(number, 64); !ok || err != nil || seconds < 0 {
			continue
		}
		return zone, seconds, nil
	}
	return "", 0, fmt.Errorf("maintenance: %w: want the zone or that there is none", ErrCommand)
}

// cutLast cuts around the last separator: zones are named by people.
func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// readCoordinators reads what coordinators without arguments prints.
func readCoordinators(text string) ([]string, error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "Cluster coordinators (")
		if !ok {
			continue
		}
		count, list, ok := strings.Cut(rest, "): ")
		n, err := strconv.Atoi(count)
		if !ok || err != nil {
			continue
		}
		seats := strings.Split(list, ",")
		for i := range seats {
			seats[i] = strings.TrimSpace(seats[i])
			if seats[i] == "" || strings.ContainsFunc(seats[i], unfit) {
				return nil, fmt.Errorf("coordinators: %w: %q: must be addresses", ErrCommand, engines.OneLine(list))
			}
		}
		if len(seats) != n {
			return nil, fmt.Errorf("coordinators: %w: %d are listed and %d counted", ErrCommand, len(seats), n)
		}
		return seats, nil
	}
	return nil, fmt.Errorf("coordinators: %w: want the list of them", ErrCommand)
}

// readSeatChange reads what a change of the coordinators prints.
func readSeatChange(a answer) error {
	if err := a.done("coordinators"); err != nil {
		return err
	}
	for line := range strings.Lines(a.stdout) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "Coordination state changed"), strings.HasPrefix(line, "No change (existing configuration satisfies request)"):
			return nil
		}
	}
	return fmt.Errorf("coordinators: %w: it did not say that they changed", ErrCommand)
}
