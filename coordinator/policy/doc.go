// Package policy decides which pods of a database cluster may go now.
//
// Decide is a function from a value to a value: the same snapshot gives the
// same plan, in whatever order its lists are. The package imports the
// standard library only and knows no clock, no client and no database by
// name; DESIGN.md lists the invariants and the tests that hold them.
//
// The types of this file set are also the spec and the claims of the
// DatabaseCluster resource, so they carry the markers from which its schema
// is generated.
//
// +kubebuilder:object:generate=true
package policy
