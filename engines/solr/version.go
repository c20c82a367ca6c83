package solr

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// version is the version of Solr, as far as behaviour depends on it.
type version struct{ major, minor int }

// balanceSince is the first version with the replica balance command.
var balanceSince = version{9, 3}

// parseVersion reads "9.10.0" and "10.0.0-SNAPSHOT".
func parseVersion(text string) (version, error) {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 2 {
		return version{}, fmt.Errorf("version %q: must be major.minor.patch", engines.OneLine(text))
	}
	major, err := strconv.ParseUint(parts[0], 10, 16)
	if err != nil {
		return version{}, fmt.Errorf("version %q: major: must be a number", engines.OneLine(text))
	}
	minor, err := strconv.ParseUint(parts[1], 10, 16)
	if err != nil {
		return version{}, fmt.Errorf("version %q: minor: must be a number", engines.OneLine(text))
	}
	return version{int(major), int(minor)}, nil
}

// atLeast compares as numbers: 9.10 is later than 9.9.
func (v version) atLeast(w version) bool {
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor)) >= 0
}
