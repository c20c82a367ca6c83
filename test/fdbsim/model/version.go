package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is the version of FoundationDB: 7.3.63.
type Version struct{ Major, Minor, Patch int }

// ParseVersion reads major.minor.patch.
func ParseVersion(text string) (Version, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return Version{}, fmt.Errorf("version %q: want major.minor.patch", text)
	}
	var numbers [3]int
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return Version{}, fmt.Errorf("version %q: want major.minor.patch", text)
		}
		numbers[i] = n
	}
	return Version{numbers[0], numbers[1], numbers[2]}, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Line is what processes and fdbcli must share to understand each other: 7.3.
func (v Version) Line() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// SameLine reports whether two versions understand each other.
func (v Version) SameLine(w Version) bool { return v.Major == w.Major && v.Minor == w.Minor }

// AtLeast compares.
func (v Version) AtLeast(major, minor, patch int) bool {
	if v.Major != major {
		return v.Major > major
	}
	if v.Minor != minor {
		return v.Minor > minor
	}
	return v.Patch >= patch
}

// Localities reports whether exclusion by locality exists.
func (v Version) Localities() bool { return v.AtLeast(7, 0, 0) }

// Hostnames reports whether coordinators may have host names.
func (v Version) Hostnames() bool { return v.AtLeast(7, 1, 0) }

// RecoveryAge reports whether status tells for how long the newest generation has been there.
func (v Version) RecoveryAge() bool { return v.AtLeast(7, 0, 0) }

// SplitProxies reports whether there are commit and GRV proxies instead of proxies.
func (v Version) SplitProxies() bool { return v.AtLeast(7, 0, 0) }

// SpaceForAll reports whether an exclusion is refused for lack of space even when no process of it stores anything.
func (v Version) SpaceForAll() bool { return !v.AtLeast(7, 1, 0) }

// WaitsForAll reports whether a blocking exclude waits for every exclusion of the cluster, and not only for its own.
func (v Version) WaitsForAll() bool { return v.AtLeast(7, 0, 0) && !v.AtLeast(7, 1, 8) }

// MatchesAbsent reports whether a locality also stands for storage servers of processes that are
// unavailable.
func (v Version) MatchesAbsent() bool {
	return v.AtLeast(7, 3, 26) || v.Line() == "7.1" && v.Patch >= 42
}
