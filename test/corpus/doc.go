// Package corpus holds saved snapshots and journals with the decisions made on them
// when they were saved, and tests that the policy still decides the same.
//
// Never re-record testdata. If a decision changes on purpose, list its entry in the
// table differences with the reason; if only a name changes, add it to renamed.
package corpus
