// Package race tells tests whether the race detector is on, which makes them take five to ten times
// as long. Tests that enumerate many cases then run a part of them. On each commit, where
// ROLLCALL_SOME is set (test/run.sh), they run five times as many without the detector; otherwise,
// and nightly, all.
package race

import "os"

// some is set on each commit.
var some = os.Getenv("ROLLCALL_SOME") != ""

// Part reports whether to run the n-th of many cases: with the detector if n is divisible by every,
// on each commit if it is divisible by a fifth of that, and always elsewhere.
func Part(n, every int) bool { return part(n, every, Enabled, some) }

func part(n, every int, detector, some bool) bool {
	switch {
	case detector:
		return n%every == 0
	case some:
		return n%max(1, every/5) == 0
	default:
		return true
	}
}
