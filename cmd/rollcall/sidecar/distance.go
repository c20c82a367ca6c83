package sidecar

import (
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// farApart returns an error if agents of two images may not run side by side: they work together if
// they are at most one minor version apart. Images whose tags are not versions cannot be compared;
// then it returns nil.
func farApart(from, to string) error {
	a, okA := version(from)
	b, okB := version(to)
	if !okA || !okB {
		return nil
	}
	minor := func(v *semver.Version) int64 { return int64(v.Minor()) }
	if a.Major() == b.Major() && max(minor(a)-minor(b), minor(b)-minor(a)) <= 1 {
		return nil
	}
	return fmt.Errorf("agents of version %s and %s do not work together: they may be one minor version apart", a, b)
}

// version is that of an image's tag.
func version(image string) (*semver.Version, bool) {
	v, err := semver.NewVersion(kube.Tag(image))
	return v, err == nil
}
