package webtest

import (
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
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
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
			collect() // while the reader has all but the end, and waits
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
	// Live is the memory in use when all of an answer but its end (Wide) is read, and at the end. It is
	// not what the collections of the runtime find: they count what is allocated during them, which is
	// more where the processor is shared.
	Live int64
}

// live is the most memory in use that collect has found since Peak began.
var live atomic.Int64

// collect finds the memory in use while little is allocated.
func collect() {
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	for now := int64(s[0].Value.Uint64()); ; {
		if old := live.Load(); now <= old || live.CompareAndSwap(old, now) {
			return
		}
	}
}

// Peak returns the peak memory of this process while f runs with an agent's limits.
func Peak(t testing.TB, f func()) Memory {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(AgentMemory))
	debug.FreeOSMemory()
	live.Store(0)
	done, peak := make(chan struct{}), make(chan int64)
	go func() {
		var most int64
		for {
			most = max(most, held())
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	f()
	collect()
	close(done)
	m := Memory{Held: <-peak, Live: live.Load()}
	t.Logf("held %d MiB, live %d MiB", m.Held>>20, m.Live>>20)
	return m
}

func held() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
