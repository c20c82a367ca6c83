// Package sidecar upgrades the agent in running pods without restarting their databases: Kubernetes
// lets the image of a running sidecar be changed, and restarts that container only.
package sidecar
