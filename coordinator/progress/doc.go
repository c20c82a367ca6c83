// Package progress says how far a rollout is, since when each thing is waited for, and
// whether the rollout is stalled. It is pure: the standard library, the model and the policy.
package progress
