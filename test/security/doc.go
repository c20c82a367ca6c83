// Package security has no code: its tests attack real agents, over loopback, with
// real certificates, gRPC and gossip, and show that the worst is a held rollout that
// somebody can see. deploy/docs/security.md names them, and test/documents looks for them.
package security
