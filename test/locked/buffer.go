// Package locked has a buffer that tests read while a program writes to it.
package locked

import (
	"bytes"
	"sync"
)

// Buffer can be written and read by several goroutines.
type Buffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write adds to the end.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// String returns all that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
