// Package coordinator is the loop of the elected coordinator: for every
// DatabaseCluster it joins what Kubernetes and the agents say into a snapshot
// (view), decides on it (policy), shows the decision (status) and carries it
// out (act).
//
// Each DatabaseCluster has a session of its own, so that nothing about one
// holds up another. A session is driven by events; it has a timer only where a
// clock is the reason for a change.
package coordinator
