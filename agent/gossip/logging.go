package gossip

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"sync"
	"time"
)

const (
	logBurst  = 20
	logPeriod = 10 * time.Second
	logBytes  = 300
)

// logWriter turns memberlist's text lines into records. Lines are cut and
// counted: what a stranger sends must not fill a log.
type logWriter struct {
	logger *slog.Logger

	mu      sync.Mutex
	since   time.Time
	written int
}

func newLog(logger *slog.Logger) *log.Logger {
	return log.New(&logWriter{logger: logger}, "", 0)
}

var levels = []struct {
	prefix []byte
	level  slog.Level
}{
	{[]byte("[ERR]"), slog.LevelWarn},
	{[]byte("[WARN]"), slog.LevelInfo},
	{[]byte("[INFO]"), slog.LevelDebug},
	{[]byte("[DEBUG]"), slog.LevelDebug},
}

// Write is called once for each line.
func (w *logWriter) Write(line []byte) (int, error) {
	n := len(line)
	level := slog.LevelInfo
	for _, l := range levels {
		if rest, ok := bytes.CutPrefix(line, l.prefix); ok {
			level, line = l.level, rest
			break
		}
	}
	if !w.logger.Enabled(context.Background(), level) || !w.allow() {
		return n, nil
	}
	line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("memberlist:")))
	if len(line) > logBytes {
		line = line[:logBytes]
	}
	w.logger.Log(context.Background(), level, "memberlist", "detail", string(line))
	return n, nil
}

func (w *logWriter) allow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.since) > logPeriod {
		w.since, w.written = now, 0
	}
	w.written++
	return w.written <= logBurst
}
