// Package effect has what the core asks of the outside, and the results: one type for each effect
// and one for its result.
//
// Package rollout decides on effects and learns from results. Package act carries effects out.
// Nothing here says how either works.
package effect
