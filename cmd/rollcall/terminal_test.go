//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/terminal"
)

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// on is the program as a process of its own, for a terminal to run.
func (w *world) on(env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), "rollcall", args...)
	kept := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") })
	cmd.Env = append(append(kept, "KUBECONFIG="+filepath.Join(w.dir, "kubeconfig"), "HOME="+w.dir, "TERM=xterm"), env...)
	return cmd
}

// Tables are as wide as the terminal, and never wider than 100 columns.
func TestTablesFitTheTerminal(t *testing.T) {
	w := newWorld(t, rolling(t, func(s *model.Snapshot) {
		s.Health.Verdict, s.Health.Reason = model.VerdictRed, strings.Repeat("replicas are missing ", 12)
	}))
	for columns, most := range map[uint16]int{80: 80, 100: 100, 180: 100, 0: 100} {
		for _, args := range [][]string{{"get"}, {"get", "-A"}, {"status", "search"}} {
			out, err := terminal.Run(w.on(nil, args...), columns, 40)
			require.NoError(t, err, out)
			require.Contains(t, out, "search")
			require.Contains(t, out, "\x1b[", "colours: %q", args)
			for _, line := range strings.Split(colours.ReplaceAllString(out, ""), "\n") {
				require.LessOrEqual(t, utf8.RuneCountInString(line), most, "%d columns, %q: %s", columns, args, line)
			}
		}
	}
}

// Colour is for terminals, and only for those who want it.
func TestColourIsForTerminals(t *testing.T) {
	w := newWorld(t, rolling(t))
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		for _, args := range [][]string{{"get"}, {"status", "search"}, {"explain", "search-0"}, {"plan", "search"}, {"rehearse", "--pods", "2", "--shards", "1", "--copies", "2"}} {
			out, err := terminal.Run(w.on([]string{env}, args...), 100, 40)
			require.NoError(t, err, out)
			require.NotContains(t, out, "\x1b", "%s %q", env, args)
		}
	}
	out, err := w.on(nil, "status", "search").Output()
	require.NoError(t, err)
	require.NotContains(t, string(out), "\x1b", "into a pipe")
}

// The view of watch fits: what scrolls away could not be drawn over.
func TestWatchFitsTheTerminal(t *testing.T) {
	w := newWorld(t, rolling(t))
	watch := w.on(nil, "watch", "search")
	r := &running{t: t, code: make(chan int, 1)}
	go func() {
		err := terminal.Show(watch, 72, 10, &r.out)
		if err != nil {
			_, _ = r.errOut.Write([]byte(err.Error()))
		}
		r.code <- watch.ProcessState.ExitCode()
	}()
	r.says("more lines: see status")
	w.board.Publish(rolling(t, finished))
	r.says("Done")
	require.NoError(t, watch.Process.Signal(os.Interrupt))
	require.Zero(t, r.end(), r.errOut.String())
	views := strings.Split(colours.ReplaceAllString(r.out.String(), ""), "\x1b[H\x1b[J")
	require.Greater(t, len(views), 2)
	for _, view := range views {
		require.Less(t, strings.Count(view, "\n"), 10, view)
		for _, line := range strings.Split(view, "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\r")), 72, line)
		}
	}
}
