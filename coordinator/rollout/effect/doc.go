// Package effect has what the core asks of the world, and what comes of it: a type for each effect, and one for its result.
//
// Package rollout decides on effects and learns from results, package act carries effects out. Neither says here how.
package effect
