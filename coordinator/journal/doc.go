// Package journal is the record of what was decided when, and on what: its
// format, and deciding it again.
//
// A journal is a JSON document that holds, oldest first, each decision that
// differed from the one before: when it was made, in which epoch, the whole
// snapshot that it depended on, and the plan. Deciding a snapshot again gives
// the same plan, whoever does it and whenever (TestReplayAgrees); a journal of
// another version may differ, and Replay says in what.
package journal
