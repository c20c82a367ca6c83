// Package model has the values of a rollout: the snapshot that a decision is made from,
// the plan that it gives, and the spec, the claims and the reports that a snapshot holds.
// It decodes and validates them, and decides nothing: that is for package policy.
//
// The spec and the claims are also those of the DatabaseCluster resource, so the types
// carry the markers from which its schema is generated.
//
// +kubebuilder:object:generate=true
package model
