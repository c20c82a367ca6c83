package engines

import (
	"fmt"
	"strings"
	"time"
)

// Some returns the first few names, and how many others there are.
func Some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// Tally counts things and keeps the first as an example. Its text is made only on demand.
type Tally[T any] struct {
	N     int
	first T
}

// Add counts one more.
func (t *Tally[T]) Add(thing T) {
	if t.N == 0 {
		t.first = thing
	}
	t.N++
}

// Text returns the example and how many others there are.
func (t Tally[T]) Text(what string) string {
	if t.N == 1 {
		return fmt.Sprint(what, " ", t.first)
	}
	return fmt.Sprintf("%s %v and %d more", what, t.first, t.N-1)
}

// Duration returns the duration as people write it.
func Duration(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
