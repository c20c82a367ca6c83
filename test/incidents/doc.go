// Package incidents tests that Rollcall does not repeat what went wrong in public
// with systems of its kind. README.md lists the incidents, the test of each, and
// the guard without which that test fails.
package incidents
