// Package agent is the sidecar in every database pod. It observes its own
// database, tells others what it sees, and makes the pod safe to stop when a
// coordinator orders it or when the kubelet is about to stop it.
//
// It has no Kubernetes credentials and gates nothing: the database runs on
// without it. DESIGN.md lists the invariants.
package agent
