// Package corpus holds saved snapshots and journals, with what was decided on them
// when they were saved, and tests that the same is decided today.
//
// testdata is never recorded anew. Where a decision changes on purpose, the entry is
// named in the table differences, with the reason; where something is only called
// by another name, the table renamed says so.
package corpus
