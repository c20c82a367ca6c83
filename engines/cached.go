package engines

import "time"

// Cached keeps a value for a while.
type Cached[T any] struct {
	value T
	at    time.Time
}

// Get returns the value, read again when it is older than that. A failure is not kept.
func (c *Cached[T]) Get(keep time.Duration, read func() (T, error)) (T, error) {
	if !c.at.IsZero() && time.Since(c.at) < keep {
		return c.value, nil
	}
	value, err := read()
	if err != nil {
		*c = Cached[T]{}
		return value, err
	}
	c.value, c.at = value, time.Now()
	return value, nil
}

// GetOrZero is for what is convenient to know: what cannot be learned is zero, and is
// asked for again only after the same time.
func (c *Cached[T]) GetOrZero(keep time.Duration, read func() (T, error)) T {
	value, err := c.Get(keep, read)
	if err != nil {
		*c = Cached[T]{at: time.Now()}
	}
	return value
}
