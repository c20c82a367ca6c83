package gossip

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"
)

const (
	logBurst  = 20
	logPeriod = 10 * time.Second
	logBytes  = 300
	// strangerQuiet is how long strangers must be silent before the next one is logged again.
	strangerQuiet = 10 * time.Minute
)

// refusals are the log lines with which memberlist reports that it dropped something before any
// delegate saw it. It reports that nowhere else. The first match counts, because a label is a
// stranger's own text.
var refusals = []struct {
	text   []byte
	reason reason
}{
	{[]byte("with unacceptable label"), reasonLabel},
	{[]byte("Decrypt packet failed"), reasonKey},
	{[]byte("no installed keys could decrypt the message"), reasonKey},
	{[]byte("encryption is configured but remote state is not encrypted"), reasonKey},
}

// logWriter turns memberlist's text lines into records. Lines are cut and
// counted: what a stranger sends must not fill a log.
type logWriter struct {
	logger  *slog.Logger
	metrics *Metrics

	mu      sync.Mutex
	since   time.Time
	written int
	heard   map[reason]time.Time // the last stranger
}

func newLog(logger *slog.Logger, metrics *Metrics) *logWriter {
	return &logWriter{logger: logger, metrics: metrics, heard: map[reason]time.Time{}}
}

// lines is what memberlist writes to.
func (w *logWriter) lines() *log.Logger { return log.New(w, "", 0) }

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
	for _, r := range refusals {
		if bytes.Contains(line, r.text) {
			w.refused(r.reason, line)
			return n, nil
		}
	}
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
	w.logger.Log(context.Background(), level, "memberlist", "detail", detail(line))
	return n, nil
}

// refused counts what a stranger sent, and logs the first of it, because strangers continue for as
// long as they have the address.
func (w *logWriter) refused(why reason, line []byte) {
	w.metrics.count(why, sender(line))
	w.mu.Lock()
	last, now := w.heard[why], time.Now()
	w.heard[why] = now
	w.mu.Unlock()
	if now.Sub(last) > strangerQuiet {
		text := "gossip of a stranger is dropped; more of it is only counted"
		if slices.Contains(refused, why) {
			text = "gossip that no agent sends, or too much of it, is dropped; more of it is only counted"
		}
		w.logger.Warn(text, "reason", string(why), "detail", detail(line))
	}
}

// sender returns the address in a line: "from 10.0.0.1:7946" or, of memberlist,
// "from=10.0.0.1:7946".
func sender(line []byte) string {
	if m := senders.FindSubmatch(line); m != nil {
		return string(m[1])
	}
	return ""
}

var senders = regexp.MustCompile(`from[ =]\[?([0-9a-fA-F.:]+)`)

func detail(line []byte) string {
	_, text, found := bytes.Cut(line, []byte("memberlist:"))
	if !found {
		text = line
	}
	text = bytes.TrimSpace(text)
	return string(text[:min(len(text), logBytes)])
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
