// Package act carries a plan out: it claims a pod, has it prepared, checks that
// what was decided still holds, lets it go and waits until it is back.
//
// One Actor works for one database cluster. What is to be done next about a
// claim is decided by a pure function (next.go) from the claim, the snapshot
// and what this process has already heard; the rest of the package carries
// single moves out. Nothing that matters is kept in memory: an Actor that starts
// with the claims of another repeats what may be repeated and goes on.
//
// DESIGN.md lists the invariants and the tests that hold them.
package act
