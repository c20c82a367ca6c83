package engines

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a database version in three numbers.
type Version struct{ Major, Minor, Patch int }

// ParseVersion reads "2.19.4" and "3.0.0-beta1".
func ParseVersion(text string) (Version, error) {
	number, _, _ := strings.Cut(text, "-")
	parts := strings.Split(number, ".")
	if len(parts) != 3 {
		return Version{}, fmt.Errorf("version %q: must be major.minor.patch", OneLine(text))
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("version %q: must be numbers", OneLine(text))
		}
		n[i] = int(v)
	}
	return Version{n[0], n[1], n[2]}, nil
}

// String returns the version as numbers.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Compare compares as numbers: 2.19 is later than 2.9.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}
