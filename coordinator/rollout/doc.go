// Package rollout is the core of the coordinator: all that it decides about one database
// cluster, as one pure function, Step.
//
//	Step(state, facts, results, now) -> (state', outcome)
//
// Facts are what Kubernetes and the agents say. An outcome is a plan, edits of the status,
// effects to be carried out, and when to step again. Whoever carries an effect out gives its
// result to a later step. The package has no clock, no client and no goroutine, and imports
// nothing but the standard library and the pure packages below it: effect, progress, policy and
// model. See DESIGN.md.
package rollout
