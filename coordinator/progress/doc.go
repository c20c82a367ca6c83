// Package progress says how far a rollout has come, since when each thing is awaited, and whether
// the rollout is stalled. It is pure: the standard library, the model and the policy.
package progress
