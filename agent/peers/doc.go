// Package peers knows the agents of the other members: it keeps the gossip running,
// announces this agent there, and asks others over gRPC.
package peers
