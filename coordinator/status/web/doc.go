// Package web is the page that shows what the coordinator decides: the pods by
// zone, the copies of everything on them, the plan with its holds, how the
// rollout went so far and when it should end. It is read only.
//
// See DESIGN.md.
package web
