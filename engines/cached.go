package engines

import "time"

// Cached keeps a value for a while.
type Cached[T any] struct {
	value T
	at    time.Time
}

// Get returns the value. It reads the value again if it is older than keep. It does not keep a
// failure.
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

// GetOrZero is for optional facts. It returns zero for what cannot be learned, and waits as long
// before it asks again.
func (c *Cached[T]) GetOrZero(keep time.Duration, read func() (T, error)) T {
	value, err := c.Get(keep, read)
	if err != nil {
		*c = Cached[T]{at: time.Now()}
	}
	return value
}
