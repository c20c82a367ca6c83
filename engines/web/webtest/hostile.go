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

// Hostile is an answer that is made to overload its reader.
type Hostile func(http.ResponseWriter)

// Endless returns an answer that begins with head and then repeats what each returns.
func Endless(head string, each func(i int) string) Hostile {
	return func(w http.ResponseWriter) { flood(w, head, each, -1) }
}

// Wide returns an answer with n results of each between head and tail.
func Wide(head string, n int, each func(i int) string, tail string) Hostile {
	return func(w http.ResponseWriter) {
		if flood(w, head, each, n) {
			_, _ = io.WriteString(w, tail)
		}
	}
}

// Bomb returns the same answer compressed by gzip.
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

// flood writes chunks until n are written or the reader has gone.
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

// Shapes returns the answers that are hostile to any reader of JSON.
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

// AgentLimit is the memory limit that the chart gives to an agent, and AgentMemory the limit for
// its runtime.
const (
	AgentLimit  = 128 << 20
	AgentMemory = 100 << 20
)

// Memory is the peak memory of a process.
type Memory struct {
	// Held is all memory that the runtime holds, and what the kernel counts.
	Held int64
	// Live is the memory in use at the garbage collections.
	Live int64
}

// Peak returns the peak memory of this process while f runs with an agent's limits.
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
