package foundationdb

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/web/webtest"
	"github.com/rollcall-dev/rollcall/test/race"
)

// printed is what a program prints that does as a server does; it ends with the test.
func printed(t *testing.T, answer webtest.Hostile) io.Reader {
	out, in := io.Pipe()
	t.Cleanup(func() { _ = out.Close() })
	go func() {
		answer(printer{httptest.NewRecorder(), in})
		_ = in.Close()
	}()
	return out
}

type printer struct {
	http.ResponseWriter
	io.Writer
}

func (p printer) Write(b []byte) (int, error) { return p.Writer.Write(b) }

// TestHostileStatus checks that whatever status json is, an agent stays within its memory.
func TestHostileStatus(t *testing.T) {
	race.Heavy(t)
	endless := func(head, each string) webtest.Hostile {
		return webtest.Endless(head, func(i int) string {
			return strings.Repeat(",", min(i, 1)) + strings.ReplaceAll(each, "%d", fmt.Sprint(i))
		})
	}
	cluster := `{"client":{},"cluster":{`
	shapes := webtest.Shapes()
	for _, compressed := range []string{"a bomb of texts", "a bomb of objects", "a long header", "nothing JSON is"} {
		delete(shapes, compressed)
	}
	shapes["processes"] = endless(cluster+`"processes":{`, `"%d":{}`)
	shapes["long names"] = endless(cluster+`"processes":{`, `"%d":{"address":"`+strings.Repeat("a", 600)+`"}`)
	shapes["roles"] = endless(cluster+`"processes":{"a":{"roles":[`, `{}`)
	shapes["messages of a process"] = webtest.Endless(cluster+`"processes":{`, func(i int) string {
		return fmt.Sprintf(`%s"%d":{"messages":[{}%s]}`, strings.Repeat(",", min(i, 1)), i, strings.Repeat(",{}", 1000))
	})
	shapes["logs"] = endless(cluster+`"logs":[`, `{}`)
	shapes["excluded"] = endless(cluster+`"configuration":{"excluded_servers":[`, `{"address":"%d"}`)
	shapes["messages"] = endless(cluster+`"messages":[`, `{"name":"%d"}`)
	shapes["coordinators"] = endless(`{"client":{"coordinators":{"coordinators":[`, `{}`)
	shapes["what is read over"] = endless(cluster+`"layers":{`, `"%d":[{"a":{}}]`)
	for name, answer := range shapes {
		t.Run(name, func(t *testing.T) {
			refused := engines.TooLarge()
			in := web.NewBounded(printed(t, answer), statusLimits)
			var err error
			peak := webtest.Peak(t, func() { _, err = decodeStatus(in) })
			require.Error(t, err)
			require.Greater(t, engines.TooLarge(), refused, err)
			require.Less(t, peak.Held, int64(webtest.AgentLimit/2))
		})
	}
}

// TestLargestStatus checks that thousands of processes with all that fdbcli prints of each are read
// within an agent's memory.
func TestLargestStatus(t *testing.T) {
	race.Heavy(t)
	data := large(2500)
	in := web.NewBounded(bytes.NewReader(data), statusLimits)
	runtime.GC() // twice, with Peak's own, for what the encoder had
	var s *status
	peak := webtest.Peak(t, func() {
		var err error
		s, err = decodeStatus(in)
		require.NoError(t, err)
	})
	require.Len(t, s.processes, 2500)
	t.Logf("of %d MiB", len(data)>>20)
	require.Less(t, peak.Held-int64(len(data)), int64(webtest.AgentLimit/2))
	require.Less(t, peak.Live, int64(webtest.AgentLimit/8), "of what is kept")
}

// TestTooMuchIsUnknown checks that what fdbcli prints beyond measure is said, counted, and nothing
// is concluded from the rest.
func TestTooMuchIsUnknown(t *testing.T) {
	e, _ := scripted(t, `echo '{"client":{},"cluster":{"x":'; exec yes '[[[['`, nil)
	refused := engines.TooLarge()
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.VerdictUnknown, o.Health.Verdict)
	require.Equal(t, engines.MembershipUnknown, o.Member)
	require.Contains(t, o.Health.Reason, "fdbcli printed too much: answer is larger than the limit of 64 levels of objects in each other")
	require.Equal(t, refused+1, engines.TooLarge())
}

func TestProcessesAreBounded(t *testing.T) {
	for n, fits := range map[int]bool{maxProcesses: true, maxProcesses + 1: false} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%s"%d":{}`, strings.Repeat(",", min(i, 1)), i)
		}
		_, err := decodeStatus(strings.NewReader(`{"client":{},"cluster":{"processes":{` + b.String() + `}}}`))
		if fits {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrTooMuch)
		require.ErrorContains(t, err, "more than 4096 processes")
	}
}

// TestNothingIsInherited checks that fdbcli gets no file that the agent has open.
func TestNothingIsInherited(t *testing.T) {
	open, err := os.Create(filepath.Join(t.TempDir(), "key-of-the-agent"))
	require.NoError(t, err)
	defer open.Close()
	e, _ := scripted(t, `for f in /proc/$$/fd/*; do readlink $f; done; readlink /proc/$$/cwd`, nil)
	a, err := e.client.run(t.Context(), "coordinators")
	require.NoError(t, err)
	require.Contains(t, a.stdout, "/dev/null")
	require.NotContains(t, a.stdout, "key-of-the-agent")
	require.NotContains(t, a.stdout, "socket:")
	require.Contains(t, a.stdout, e.client.file.dir)
}
