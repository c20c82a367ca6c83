// Package view joins what Kubernetes and the agents say into the one value on which a decision is
// made. Look is a function from values to a value: no clock, no client, no memory of earlier calls.
//
// Bad news counts from any channel; good news about a pod only from its own fresh report, or, for a
// pod that has no agent, from a majority of the others. DESIGN.md lists the invariants and the
// tests that hold them.
package view
