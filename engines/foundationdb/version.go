package foundationdb

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// version of FoundationDB; only what behaviour depends on.
type version struct{ major, minor, patch int }

// parseVersion reads "7.3.63" and "7.4.0-rc1".
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

func (v version) compare(w version) int {
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch))
}

func (v version) atLeast(major, minor, patch int) bool {
	return v.compare(version{major, minor, patch}) >= 0
}

// byLocality: an exclusion by locality can be trusted to be finished when it says
// so. Before 7.1.42 and 7.3.26 it is not, before 7.0 there is none.
func (v version) byLocality() bool {
	if v.major == 7 && v.minor == 3 {
		return v.patch >= 26
	}
	return v.atLeast(7, 1, 42) && !(v.major == 7 && v.minor == 2)
}

// localities: they can be excluded at all.
func (v version) localities() bool { return v.atLeast(7, 0, 0) }
