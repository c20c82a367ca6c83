// Package act carries out what package rollout decides: it asks agents, opens guards, removes pods,
// moves partitions and deletes volume claims.
//
// An Executor works for one database cluster in one epoch. It decides nothing: each effect says
// what must still be so when it is carried out, and its outcome is a result for a later step.
// TakeOver begins an epoch.
//
// DESIGN.md lists the invariants and the tests that hold them.
package act
