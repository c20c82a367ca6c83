package fdbreal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// client runs fdbcli for the judge, with a cluster file of its own. It shares nothing with the adapter.
type client struct {
	path, file string
	secure     []string // arguments that every run has
}

// answer is what one run printed.
type answer struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

func (a answer) String() string {
	return fmt.Sprintf("exit %d after %s\n%s%s", a.code, a.took.Round(time.Millisecond), a.stdout, a.stderr)
}

// newClient returns a client whose cluster file says connection.
func newClient(t testing.TB, path, connection string) *client {
	file := filepath.Join(t.TempDir(), "fdb.cluster")
	require.NoError(t, os.WriteFile(file, []byte(connection+"\n"), 0o600))
	return &client{path: path, file: file}
}

// run runs the commands, which fdbcli itself gives up after limit.
func (c *client) run(ctx context.Context, limit time.Duration, commands ...string) answer {
	ctx, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	begun := time.Now()
	args := append([]string{"-C", c.file, "--timeout", fmt.Sprint(max(1, int(limit.Seconds())))}, c.secure...)
	cmd := exec.CommandContext(ctx, c.path, append(args, "--exec", strings.Join(commands, "; "))...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	a := answer{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(begun)}
	if err != nil {
		a.code = cmd.ProcessState.ExitCode()
		if a.code == 0 {
			a.code = -1
		}
	}
	return a
}

// must runs the commands and fails the test if fdbcli does.
func (c *client) must(t testing.TB, commands ...string) string {
	t.Helper()
	a := c.run(t.Context(), time.Minute, commands...)
	require.Zero(t, a.code, "fdbcli %q: %s", commands, a)
	return a.stdout
}

// unescape undoes fdbcli's way of printing bytes.
func unescape(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			out = append(out, text[i])
		case strings.HasPrefix(text[i:], `\\`):
			out = append(out, '\\')
			i++
		case strings.HasPrefix(text[i:], `\x`) && len(text) >= i+4:
			var b byte
			if _, err := fmt.Sscanf(text[i+2:i+4], "%02x", &b); err != nil {
				return nil, fmt.Errorf("%q at %d: must be two hexadecimal digits after \\x: %w", text, i, err)
			}
			out = append(out, b)
			i += 3
		default:
			return nil, fmt.Errorf("%q at %d: must be \\\\ or \\xNN", text, i)
		}
	}
	return out, nil
}

// pairs reads the lines "`key' is `value'" of getrange.
func pairs(stdout string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for line := range strings.Lines(stdout) {
		rest, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "`")
		key, value, both := strings.Cut(rest, "' is `")
		if !is || !both {
			continue
		}
		k, err := unescape(key)
		if err != nil {
			return nil, err
		}
		v, err := unescape(strings.TrimSuffix(value, "'"))
		if err != nil {
			return nil, err
		}
		out[string(k)] = v
	}
	return out, nil
}
