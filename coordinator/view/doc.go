// Package view joins what Kubernetes says and what the agents say into the one
// value that a decision is made from. Look is a function from values to a value:
// no clock, no client, no memory of earlier calls.
//
// Bad news counts from any channel; good news about a pod only from its own
// fresh report, or, for a pod that has no agent, from a majority of the others.
// DESIGN.md lists the invariants and the tests that hold them.
package view
