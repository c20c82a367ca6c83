package opensearch

import "github.com/rollcall-dev/rollcall/engines"

// older reports whether a is known to be older than b.
func older(a, b string) bool {
	v, errA := engines.ParseVersion(a)
	w, errB := engines.ParseVersion(b)
	return errA == nil && errB == nil && v.Compare(w) < 0
}
