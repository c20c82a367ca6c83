// Package fdbreal puts the FoundationDB adapter and the policy over real server processes, and judges what they let go by
// the true world: which processes this test has killed, which copies of which shard are on them by the database's own
// map of shards, and which writes were acknowledged. See DESIGN.md.
package fdbreal
