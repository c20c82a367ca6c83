package engines

import "sync/atomic"

var tooLarge atomic.Int64

// CountTooLarge is called by an adapter for each answer of its database that it did not
// read because it was larger than any that is legitimate.
func CountTooLarge() { tooLarge.Add(1) }

// TooLarge is how many there were in this process.
func TooLarge() int64 { return tooLarge.Load() }
