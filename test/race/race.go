// Package race tells tests whether the race detector watches, under which they take
// five to ten times as long. What enumerates much then tries a part of it; test/run.sh
// runs all of it without.
package race

// Part says of the n-th of many whether it is tried: always, or with the detector each
// time that n divides by every.
func Part(n, every int) bool { return !Enabled || n%every == 0 }
