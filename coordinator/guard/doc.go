// Package guard makes Kubernetes itself refuse the removal of pods that Rollcall has not freed: a
// label on the pod, one PodDisruptionBudget for each database cluster (evictions), and one
// admission policy for all (deletes).
//
// Decide is a function from values to a value; Guard watches and writes. No webhook takes part, so
// the guard holds while no coordinator runs; and Expire ends it when none has run for too long.
// DESIGN.md lists the invariants.
package guard
