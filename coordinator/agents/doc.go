// Package agents is what the agents say: it holds streams to the agents of each
// database cluster, keeps the newest report of each, and carries orders to them.
//
// It judges nothing. What it hands on is bound to the pod that was meant: a
// message in which another pod speaks is dropped and its stream closed.
package agents
