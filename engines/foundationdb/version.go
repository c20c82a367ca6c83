package foundationdb

import "github.com/rollcall-dev/rollcall/engines"

// version is the version of FoundationDB, as far as behaviour depends on it.
type version struct{ engines.Version }

// parseVersion reads "7.3.63" and "7.4.0-rc1".
func parseVersion(text string) (version, error) {
	v, err := engines.ParseVersion(text)
	return version{v}, err
}

func (v version) atLeast(major, minor, patch int) bool {
	return v.Compare(engines.Version{Major: major, Minor: minor, Patch: patch}) >= 0
}

// byLocality reports whether an exclusion by locality can be trusted when it says that it is
// finished. It cannot before 7.1.42 and 7.3.26, and does not exist before 7.0.
func (v version) byLocality() bool {
	if v.Major == 7 && v.Minor == 3 {
		return v.Patch >= 26
	}
	return v.atLeast(7, 1, 42) && !(v.Major == 7 && v.Minor == 2)
}

// localities reports whether localities can be excluded at all.
func (v version) localities() bool { return v.atLeast(7, 0, 0) }
