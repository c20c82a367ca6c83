package enginetest

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// strays returns the stacks of goroutines that an engine could leave behind: its own, those of HTTP
// and database/sql clients, and those that wait for processes.
func strays() []string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	var out []string
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(stack, "testing.tRunner") || strings.Contains(stack, "net/http.(*Server)") || strings.Contains(stack, "net/http.(*conn)") {
			continue
		}
		for _, sign := range []string{"/rollcall/engines/", "net/http.(*persistConn)", "net/http.(*Transport)", "database/sql.(*DB)", "os/exec.(*Cmd)"} {
			if strings.Contains(stack, sign) {
				out = append(out, stack)
				break
			}
		}
	}
	return out
}

// requireNoneLeft fails if goroutines or connections are left. It waits for a while, because
// closing is not instantaneous.
func requireNoneLeft(t *testing.T, before int, connections func() int) {
	t.Helper()
	var left []string
	open := 0
	for range 2000 {
		left, open = strays(), 0
		if connections != nil {
			open = connections()
		}
		if len(left) <= before && open == 0 {
			return
		}
		time.Sleep(30 * time.Millisecond)
	}
	require.LessOrEqual(t, len(left), before, "goroutines left behind:\n%s", strings.Join(left, "\n\n"))
	require.Zero(t, open, "connections left open")
}
