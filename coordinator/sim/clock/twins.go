package clock

// Twin is what a request shares with those that a process made in the same words at
// this instant, and whether it is the first of them. They are served as one: which of
// them asks first is nobody's choice, and one would be answered later than the other.
// Only the loop may call it.
func Twin[T any](l *Loop, request string) (shared *T, first bool) {
	if now := l.Now(); l.twinsAt != now {
		clear(l.twins)
		l.twinsAt = now
	}
	if earlier, ok := l.twins[request].(*T); ok {
		return earlier, false
	}
	shared = new(T)
	l.twins[request] = shared
	return shared, true
}
