// Package agents holds streams to the agents of each database cluster, keeps the newest report of
// each, and sends orders to them.
//
// It judges nothing. What it returns belongs to the requested pod: a message from another pod is
// dropped and its stream closed.
package agents
