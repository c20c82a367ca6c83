// Package sidecar brings another version of the agent into pods that run,
// without restarting their databases: Kubernetes lets the image of a running
// sidecar be changed, and restarts that container only.
package sidecar
