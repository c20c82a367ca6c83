package webtest

import (
	"compress/gzip"
	"io"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// Hostile is an answer that is made to be too much for whoever reads it.
type Hostile func(http.ResponseWriter)

// Endless is an answer that begins with head and then repeats what each makes.
func Endless(head string, each func(i int) string) Hostile {
	return func(w http.ResponseWriter) { flood(w, head, each, -1) }
}

// Wide is an answer with n of what each makes between head and tail.
func Wide(head string, n int, each func(i int) string, tail string) Hostile {
	return func(w http.ResponseWriter) {
		if flood(w, head, each, n) {
			_, _ = io.WriteString(w, tail)
		}
	}
}

// Bomb is the same in as few bytes as gzip makes of it.
func Bomb(h Hostile) Hostile {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		h(zipped{w, z})
		_ = z.Close()
	}
}

type zipped struct {
	http.ResponseWriter
	to io.Writer
}

func (z zipped) Write(p []byte) (int, error) { return z.to.Write(p) }

// flood writes chunks until n are written or nobody reads any more.
func flood(w io.Writer, head string, each func(i int) string, n int) bool {
	chunk := []byte(head)
	for i := 0; i != n; i++ {
		if chunk = append(chunk, each(i)...); len(chunk) > 32<<10 {
			if _, err := w.Write(chunk); err != nil {
				return false
			}
			chunk = chunk[:0]
		}
	}
	_, err := w.Write(chunk)
	return err == nil
}

// Shapes are those that are hostile to any reader of JSON, whatever it wants.
func Shapes() map[string]Hostile {
	a := strings.Repeat("a", 1<<10)
	shapes := map[string]Hostile{
		"deep lists":      Endless("", func(int) string { return "[" }),
		"deep objects":    Endless("", func(int) string { return `{"a":` }),
		"a long text":     Endless(`{"a":"`, func(int) string { return a }),
		"a long number":   Endless(`{"a":1`, func(int) string { return "1" }),
		"a long name":     Endless(`{"`, func(int) string { return a }),
		"spaces":          Endless(`{`, func(int) string { return "   \n" }),
		"empty objects":   Endless(`{"a":[{}`, func(int) string { return ",{}" }),
		"numbers":         Endless(`{"a":[0`, func(int) string { return ",0" }),
		"nothing JSON is": Endless(``, func(int) string { return a }),
		"a long header": func(w http.ResponseWriter) {
			w.Header().Set("X-Long", strings.Repeat("a", 1<<20))
			_, _ = io.WriteString(w, "{}")
		},
	}
	shapes["a bomb of texts"] = Bomb(shapes["a long text"])
	shapes["a bomb of objects"] = Bomb(shapes["empty objects"])
	return shapes
}

// AgentLimit is the memory that the chart gives to an agent, and AgentMemory what its
// runtime is told to keep within.
const (
	AgentLimit  = 128 << 20
	AgentMemory = 100 << 20
)

// Memory is the most that a process had.
type Memory struct {
	// Held is all that the runtime holds of the system, and what the kernel counts.
	Held int64
	// Live is what was in use when the collector looked.
	Live int64
}

// Peak is the most memory that this process has while f runs as an agent does.
func Peak(t testing.TB, f func()) Memory {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(AgentMemory))
	debug.FreeOSMemory()
	done, peaks := make(chan struct{}), make(chan Memory)
	go func() {
		peak := Memory{}
		for {
			now := memory()
			peak.Held, peak.Live = max(peak.Held, now.Held), max(peak.Live, now.Live)
			select {
			case <-done:
				peaks <- peak
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	f()
	close(done)
	peak := <-peaks
	t.Logf("held %d MiB, live %d MiB", peak.Held>>20, peak.Live>>20)
	return peak
}

func memory() Memory {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return Memory{Held: int64(s[0].Value.Uint64() - s[1].Value.Uint64()), Live: int64(s[2].Value.Uint64())}
}
