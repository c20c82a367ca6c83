package door

import (
	"log"
	"log/slog"
	"sync"
	"time"
)

// quietFor is how long nothing more is said of a kind.
const quietFor = time.Minute

// Quiet limits log lines: one per minute and kind. Kinds must be few, since it
// forgets none.
type Quiet struct {
	mu   sync.Mutex
	told map[string]time.Time
}

// NewQuiet returns a Quiet that has said nothing yet.
func NewQuiet() *Quiet { return &Quiet{told: map[string]time.Time{}} }

// Due reports whether to log this kind now.
func (q *Quiet) Due(kind string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if last, ok := q.told[kind]; ok && now.Sub(last) < quietFor {
		return false
	}
	q.told[kind] = now
	return true
}

// ErrorLog is for http.Server, which logs each failed handshake: it lets one per
// minute through.
func ErrorLog(logger *slog.Logger, level slog.Level) *log.Logger {
	return log.New(quietWriter{slog.NewLogLogger(logger.Handler(), level), NewQuiet()}, "", 0)
}

type quietWriter struct {
	inner *log.Logger
	quiet *Quiet
}

func (w quietWriter) Write(line []byte) (int, error) {
	if w.quiet.Due("") {
		w.inner.Print(string(line))
	}
	return len(line), nil
}
