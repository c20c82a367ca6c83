package foundationdb

import "github.com/rollcall-dev/rollcall/engines"

// version is the version of FoundationDB; only what behaviour depends on.
type version struct{ engines.Version }

// parseVersion reads "7.3.63" and "7.4.0-rc1".
func parseVersion(text string) (version, error) {
	v, err := engines.ParseVersion(text)
	return version{v}, err
}

func (v version) atLeast(major, minor, patch int) bool {
	return v.Compare(engines.Version{Major: major, Minor: minor, Patch: patch}) >= 0
}

// byLocality reports whether an exclusion by locality can be trusted to be finished when it says
// so. Before 7.1.42 and 7.3.26 it is not, before 7.0 there is none.
func (v version) byLocality() bool {
	if v.Major == 7 && v.Minor == 3 {
		return v.Patch >= 26
	}
	return v.atLeast(7, 1, 42) && !(v.Major == 7 && v.Minor == 2)
}

// localities reports whether they can be excluded at all.
func (v version) localities() bool { return v.atLeast(7, 0, 0) }
