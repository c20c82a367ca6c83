package engines

import "sync/atomic"

var tooLarge atomic.Int64

// CountTooLarge counts an answer of a database that the adapter did not read because it was larger
// than any legitimate one.
func CountTooLarge() { tooLarge.Add(1) }

// TooLarge returns how many such answers there were in this process.
func TooLarge() int64 { return tooLarge.Load() }
