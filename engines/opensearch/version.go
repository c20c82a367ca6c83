package opensearch

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// version of OpenSearch; only what behaviour depends on.
type version struct{ major, minor, patch int }

// parseVersion reads "2.19.4" and "3.0.0-beta1".
func parseVersion(text string) (version, error) {
	number, _, _ := strings.Cut(text, "-")
	parts := strings.Split(number, ".")
	if len(parts) != 3 {
		return version{}, fmt.Errorf("version %q: want major.minor.patch", engines.OneLine(text))
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return version{}, fmt.Errorf("version %q: want numbers", engines.OneLine(text))
		}
		n[i] = int(v)
	}
	return version{n[0], n[1], n[2]}, nil
}

// compare as numbers: 2.19 is later than 2.9.
func (v version) compare(w version) int {
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch))
}

// older tells whether a is known to be older than b.
func older(a, b string) bool {
	v, errA := parseVersion(a)
	w, errB := parseVersion(b)
	return errA == nil && errB == nil && v.compare(w) < 0
}
