// Package policy decides which pods of a database cluster may go now.
//
// Decide is a function from a value to a value: the same snapshot gives the same plan, in whatever
// order its lists are. It imports the standard library, package model and the packages below it
// only, and knows no clock, no client and no database by name; DESIGN.md lists the invariants and
// the tests that hold them.
package policy
