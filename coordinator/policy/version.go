package policy

import (
	"cmp"
	"strconv"
	"strings"
)

// version is an engine version: its leading numbers. What follows them
// ("9.10.0-slim") says nothing about what can run beside what.
type version [4]int

// parseVersion answers false for text that does not begin with a number.
func parseVersion(text string) (version, bool) {
	var v version
	rest := strings.TrimPrefix(text, "v")
	for i := range v {
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if end == 0 {
			return v, i > 0
		}
		n, err := strconv.Atoi(rest[:end])
		if err != nil {
			return v, false
		}
		v[i] = n
		if end == len(rest) || rest[end] != '.' {
			break
		}
		rest = rest[end+1:]
	}
	return v, true
}

func (v version) compare(w version) int {
	for i := range v {
		if c := cmp.Compare(v[i], w[i]); c != 0 {
			return c
		}
	}
	return 0
}

// line is the major and minor number.
func (v version) line() [2]int { return [2]int{v[0], v[1]} }

// talksTo: it is of the same line as all of those.
func (v version) talksTo(all versionSpan) bool {
	return v.line() == all.oldest.version.line() && v.line() == all.newest.version.line()
}

// versionSpan is from the oldest to the newest of some versions.
type versionSpan struct {
	known          bool
	oldest, newest namedVersion
}

// namedVersion is a version, how it was written, and the pool that runs it.
type namedVersion struct {
	version version
	text    string
	pool    *Pool
}

// runs says where it runs, unless that is the pool which is spoken of.
func (n namedVersion) runs(spokenOf *Pool) string {
	if n.pool == spokenOf {
		return n.text + ", which runs,"
	}
	return n.text + ", which runs in pool " + n.pool.Name + ","
}

// add widens the span by a version that a pool runs; text that is none changes
// nothing.
func (s *versionSpan) add(text string, pool *Pool) {
	v, ok := parseVersion(text)
	if !ok {
		return
	}
	n := namedVersion{v, text, pool}
	if !s.known || v.compare(s.oldest.version) < 0 {
		s.oldest = n
	}
	if !s.known || v.compare(s.newest.version) > 0 {
		s.newest = n
	}
	s.known = true
}

// join widens the span by another one.
func (s *versionSpan) join(o versionSpan) {
	if o.known {
		s.add(o.oldest.text, o.oldest.pool)
		s.add(o.newest.text, o.newest.pool)
	}
}
