// Package naive decides a second time, for tests only.
//
// It is written from the policy page (deploy/docs/policy.md) and the documentation of the formats,
// by somebody who has not read the policy's code. It shares only the value types with it: no index,
// no stored counts, no shortcuts. If it differs from policy.Decide, one of the two has read the
// page wrongly, or the page can be read in two ways.
//
// Each function is a sentence of the page, and names its section.
package naive
