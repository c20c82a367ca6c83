package foundationdb

import (
	"slices"
	"strconv"
	"strings"
)

// A process is asked for the last error that it has logged, which it says until it ends. So an
// error counts while it is new.

// failsFor is how long, in seconds, an error counts.
const failsFor = 600

// grave are the errors with which a process does not serve.
var grave = []string{"io_error", "io_timeout", "platform_error", "process_error"}

// judgeProblems notes which of the processes fail now. An error whose time is not known counts.
func (s *status) judgeProblems() {
	for i := range s.processes {
		p := &s.processes[i]
		for _, q := range p.problems {
			if slices.Contains(grave, q.name) && !s.past(p, q) {
				p.fails = q.message
				break
			}
		}
	}
}

// past reports whether an error is known to be long ago, or of before the process was started.
func (s *status) past(p *process, q problem) bool {
	if s.clock == 0 || q.at == 0 {
		return false
	}
	return s.clock-q.at > failsFor || p.uptime != nil && q.at < s.clock-*p.uptime-slack.Seconds()
}

// failing is what the process says of itself that keeps it from serving now.
func (p process) failing() string { return p.fails.name }

// loggedAt is when a line of a log was written, in seconds; 0 means unknown. The field time of a
// message is of no use: it has six digits, and with them tells hours.
func loggedAt(line string) float64 {
	for _, before := range []string{`"Time"="`, ` Time="`} {
		_, rest, found := strings.Cut(line, before)
		if !found {
			continue
		}
		number, _, _ := strings.Cut(rest, `"`)
		if at, err := strconv.ParseFloat(number, 64); err == nil && at > 0 {
			return at
		}
	}
	return 0
}
