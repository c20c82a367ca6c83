package race

import "testing"

// Heavy skips a test that is about figures, or takes very long, with the detector. test/run.sh runs all of its
// package without.
func Heavy(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("it runs without the race detector: test/run.sh")
	}
}

// Night skips a test that builds for minutes of two processors, on each commit. make nightly runs it.
func Night(t testing.TB) {
	t.Helper()
	if some {
		t.Skip("it runs nightly: make nightly")
	}
}
