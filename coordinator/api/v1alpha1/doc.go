// Package v1alpha1 is the resource DatabaseCluster: its types, the names that
// go with it, and a typed client and informer for it.
//
// The spec, claims and approvals are those of package model, so that a
// decision and the object that it was made from cannot drift apart. The
// custom resource definition and the deep copies are generated from the
// markers on these types.
//
// +kubebuilder:object:generate=true
// +groupName=rollcall.dev
package v1alpha1

//go:generate go tool -modfile=../../../test/tools/go.mod controller-gen object crd:maxDescLen=400 paths=. output:crd:dir=../../../deploy/chart/files
