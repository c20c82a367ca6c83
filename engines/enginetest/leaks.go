package enginetest

import (
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// label marks the goroutines of a case: those that it starts inherit the label. Other tests may run
// at the same time.
const label = "conformance"

func labelled(t *testing.T) {
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels(label, caseOf(t))))
}

func caseOf(t *testing.T) string { return fmt.Sprintf("%s %p", t.Name(), t) }

// strays returns the stacks of goroutines of the case that an engine could leave behind, with how
// many have each: its own, those of HTTP and database/sql clients, and those that wait for
// processes.
func strays(t *testing.T) (count int, stacks []string) {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
	_, records, _ := strings.Cut(all.String(), "\n") // after the total of the process
	for stack := range strings.SplitSeq(records, "\n\n") {
		if !strings.Contains(stack, fmt.Sprintf("%q:%q", label, caseOf(t))) ||
			strings.Contains(stack, "testing.tRunner") || strings.Contains(stack, "net/http.(*Server)") || strings.Contains(stack, "net/http.(*conn)") {
			continue
		}
		for _, sign := range []string{"/rollcall/engines/", "net/http.(*persistConn)", "net/http.(*Transport)", "database/sql.(*DB)", "os/exec.(*Cmd)"} {
			if strings.Contains(stack, sign) {
				n := 0
				_, _ = fmt.Sscan(stack, &n)
				count, stacks = count+n, append(stacks, stack)
				break
			}
		}
	}
	return count, stacks
}

// requireNoneLeft fails if goroutines or connections are left. It waits for a while, because
// closing is not instantaneous.
func requireNoneLeft(t *testing.T, before int, connections func() int) {
	t.Helper()
	var stacks []string
	left, open := 0, 0
	for range 2000 {
		left, stacks = strays(t)
		open = 0
		if connections != nil {
			open = connections()
		}
		if left <= before && open == 0 {
			return
		}
		time.Sleep(30 * time.Millisecond)
	}
	require.LessOrEqual(t, left, before, "goroutines left behind:\n%s", strings.Join(stacks, "\n\n"))
	require.Zero(t, open, "connections left open")
}
