// Package state keeps what an agent must remember across restarts of its process,
// in files that live as long as the pod.
package state
