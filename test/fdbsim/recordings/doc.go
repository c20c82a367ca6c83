// Package recordings holds the simulated FoundationDB to recordings of a real one. It has tests only: each brings a simulated
// cluster of the recorded shape into the recorded state by the same deeds and compares what status json and fdbcli print. What
// differs and may is in lists with a reason; an entry that no longer differs fails the test.
//
// The recordings are no part of the repository: they are looked for in ROLLCALL_FDB_RECORDINGS, or in ../shared/foundationdb
// beside it. Without them nothing is compared, and a loud line says so; with ROLLCALL_FDB_RECORDINGS_REQUIRED=1 that fails.
package recordings
