// Package rollout is the core of the coordinator: all that it decides about one database
// cluster, as one pure function, Step.
//
//	Step(state, facts, results, now) -> (state', decision)
//
// Facts are what Kubernetes and the agents say. A decision is a plan, edits of the status,
// effects to be carried out, and when to step again. Whoever carries an effect out gives its
// result to a later step. The package has no clock, no client and no goroutine, and imports
// nothing but the standard library and the pure rooms below it: the model, the policy and the
// progress. See DESIGN.md.
package rollout
