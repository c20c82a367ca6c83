package foundationdb

import (
	"fmt"
	"math"
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
			for _, sign := range []string{"ERROR:", "Usage:", "usage:", "Unable to", "FATAL", "The database is unavailable"} {
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
		return refusal{command, words}
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
		return refusal{"exclude", e.refusals}.why()
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

// maintenance is the zone under maintenance, empty when there is none, and for how long it is.
type maintenance struct {
	zone    string
	seconds float64
}

// noFailures is the zone that FoundationDB itself puts under maintenance while data distribution is
// disabled for failures of storage servers.
const noFailures = "IgnoreSSFailures"

// another reports whether it is of a zone that is not this one.
func (m maintenance) another(zone string) bool { return m.zone != "" && m.zone != zone }

// words says what whoever needs another zone waits for.
func (m maintenance) words() string {
	if m.zone == noFailures {
		return "data distribution is disabled for failures of storage servers, so that no zone can be under maintenance: say datadistribution enable ssfailure"
	}
	return fmt.Sprintf("zone %s is under maintenance for %d s more: until that ends, or somebody says maintenance off, no other zone can be", engines.OneLine(m.zone), int(m.seconds))
}

// readMaintenance reads what maintenance without arguments prints, as often as it was said.
func readMaintenance(text string, times int) ([]maintenance, error) {
	var list []maintenance
	for line := range strings.Lines(text) {
		if m, ok := readMaintained(strings.TrimSpace(line)); ok {
			list = append(list, m)
		}
	}
	if len(list) != times {
		return nil, fmt.Errorf("maintenance: %w: want the zone or that there is none, %d times, and it was said %d times", ErrCommand, times, len(list))
	}
	return list, nil
}

func readMaintained(line string) (m maintenance, ok bool) {
	if line == "No ongoing maintenance." {
		return maintenance{}, true
	}
	if strings.HasPrefix(line, "Data distribution has been disabled for all storage server failures in this cluster") {
		return maintenance{zone: noFailures}, true
	}
	rest, ok := strings.CutPrefix(line, "Maintenance for zone ")
	if !ok {
		return maintenance{}, false
	}
	zone, left, ok := cutLast(rest, " will continue for ")
	number, told := strings.CutSuffix(left, " seconds.")
	seconds, err := strconv.ParseFloat(number, 64)
	if !ok || !told || zone == "" || err != nil || !(seconds >= 0) || seconds > math.MaxInt32 {
		return maintenance{}, false
	}
	return maintenance{zone, seconds}, true
}

// cutLast cuts around the last separator: zones are named by people.
func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
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
	return refusal{"coordinators", "it did not say that they changed"}
}
