package recordings

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/cli"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
	"github.com/rollcall-dev/rollcall/test/fdbsim/world"
)

// text is a recorded command: what it was asked, and what it said.
type text struct {
	name, command  string
	timeout        int
	stdout, stderr string
	code           int
}

var (
	entry  = regexp.MustCompile(`(?s)^(.*?)\n\$ fdbcli --timeout (\d+) --exec '(.*?)'\n--- exit (\d+)\n--- stdout\n(.*?)--- stderr\n?(.*)$`)
	number = regexp.MustCompile(`[0-9a-f]{32}|\d+(\.\d+)?`)
	blanks = regexp.MustCompile(` +`)
	seat   = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

func read(t *testing.T) []text {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(t), "texts.txt"))
	require.NoError(t, err)
	var out []text
	for _, part := range strings.Split("\n"+string(data), "\n=== ")[1:] {
		m := entry.FindStringSubmatch(part)
		require.NotNil(t, m, "not a recorded command: %.80s", part)
		timeout, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		code, err := strconv.Atoi(m[4])
		require.NoError(t, err)
		out = append(out, text{name: m[1], command: m[3], timeout: timeout, stdout: m[5], stderr: m[6], code: code})
	}
	return out
}

// alike takes off what is of one cluster: numbers but those of addresses, the blanks that put them under each other, and the
// line ends after all of it.
func alike(s string) string {
	var out strings.Builder
	at := 0
	for _, span := range seat.FindAllStringIndex(s, -1) {
		out.WriteString(number.ReplaceAllString(s[at:span[0]], "#") + s[span[0]:span[1]])
		at = span[1]
	}
	out.WriteString(number.ReplaceAllString(s[at:], "#"))
	return strings.TrimRight(blanks.ReplaceAllString(out.String(), " "), "\n")
}

// TestTextsAreThoseOfARealServer runs each recorded command on a simulated cluster and compares both streams and the exit code.
func TestTextsAreThoseOfARealServer(t *testing.T) {
	texts := read(t)
	require.GreaterOrEqual(t, len(texts), 40)
	m := recorded(t)
	m.Exclude([]string{address(1)}, false) // the data was on fdb-2 when this was recorded
	require.True(t, m.Settle(time.Hour))
	m.Include(nil, false, true)
	require.True(t, m.Settle(time.Hour))
	s := &shell{t: t, world: world.New(m, world.Options{Clock: func() time.Time { return time.Unix(0, 0) }})}
	for _, text := range texts {
		if strings.HasSuffix(text.name, "without database") {
			s.world.Do(func(m *model.Cluster) {
				for _, instance := range []string{"fdb-3", "fdb-4", "fdb-5"} {
					m.Kill(instance)
				}
			})
		}
		stdout, stderr, code := s.run(text)
		require.Equal(t, alike(text.stdout), alike(stdout), "%s, stdout", text.name)
		require.Equal(t, alike(text.stderr), alike(stderr), "%s, stderr", text.name)
		require.Equal(t, text.code, code, text.name)
	}
}

// quick is what a second of the recording takes here, where somebody waits in real time.
const quick = 100 * time.Millisecond

// shell runs fdbcli within the test.
type shell struct {
	t     *testing.T
	world *world.World
}

func (s *shell) run(command text) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	p := cli.Program{
		Version: model.Version{Major: 7, Minor: 1, Patch: 68}, Stdout: &out, Stderr: &errs, ClusterFile: "fdb.cluster",
		Open: func(string) (cli.Database, error) { return s, nil }, Clock: func() time.Time { return time.Unix(0, 0) },
		Poll: time.Millisecond, Patience: time.Millisecond, WarnAfter: 5 * quick, LookAfter: 6 * quick, Reach: 51 * quick / 10,
	}
	limit := max(1, time.Duration(command.timeout)*quick/time.Second)
	code = p.Run(s.t.Context(), []string{"--exec", command.command, "--timeout", strconv.Itoa(int(limit))})
	return out.String(), errs.String(), code
}

// Ask is answered from the world, in which a second goes by.
func (s *shell) Ask(ctx context.Context, r wire.Request) (wire.Reply, error) {
	s.world.Do(func(m *model.Cluster) {
		r.Connection = m.Key()
		if r.Op != wire.Open {
			m.Advance(time.Second)
		}
	})
	return s.world.Ask(ctx, r)
}

func (s *shell) Coordinators() []string { return []string{address(3), address(4), address(5)} }
