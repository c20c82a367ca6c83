// Package race tells tests whether the race detector is on, which makes them take five to ten times
// as long. Tests that enumerate many cases then run a part of them; test/run.sh runs all without
// the detector.
package race

// Part reports whether to run the n-th of many cases: always, or with the detector only if n is
// divisible by every.
func Part(n, every int) bool { return !Enabled || n%every == 0 }
