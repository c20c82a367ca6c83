package clock

// Served is what is answered once, to all that asked the same at one instant. Only the
// loop may touch it until it has told them.
type Served[T any] struct {
	Response T
	Err      error
	told     []func()
}

// Wait has one more be told of the answer.
func (s *Served[T]) Wait(told func()) { s.told = append(s.told, told) }

// Tell them all.
func (s *Served[T]) Tell() {
	for _, told := range s.told {
		told()
	}
}

// Twin is what a request shares with those that a process made in the same words at
// this instant, and whether it is the first of them. They are served as one: which of
// them asks first is nobody's choice, and one would be answered later than the other.
// Only the loop may call it.
func Twin[T any](l *Loop, request string) (shared *Served[T], first bool) {
	if now := l.Now(); l.twinsAt != now {
		clear(l.twins)
		l.twinsAt = now
	}
	if earlier, ok := l.twins[request].(*Served[T]); ok {
		return earlier, false
	}
	shared = &Served[T]{}
	l.twins[request] = shared
	return shared, true
}
