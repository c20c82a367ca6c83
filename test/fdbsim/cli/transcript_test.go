package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
	"github.com/rollcall-dev/rollcall/test/fdbsim/world"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// Each file of testdata is a transcript: a line with ! does something to the cluster, one with $ is an --exec, one with $$
// all arguments. What follows is what fdbcli printed, 1| to stdout and 2| to stderr in the order of the lines, and = its exit
// code. Each question to the cluster takes a second.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			got := newStage(t).play(string(want))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(want), got, "run the test with -update to write it anew")
		})
	}
}

// stage is where a transcript is played.
type stage struct {
	t     *testing.T
	world *world.World
	other *world.World // that nobody can reach while it is not nil
	spec  model.Spec
}

func newStage(t *testing.T) *stage { return &stage{t: t} }

func (s *stage) play(transcript string) string {
	var out strings.Builder
	for line := range strings.Lines(transcript) {
		line = strings.TrimSuffix(line, "\n")
		kind, text, _ := strings.Cut(line, " ")
		switch kind {
		case "#", "":
			out.WriteString(line + "\n")
		case "!":
			out.WriteString(line + "\n")
			s.event(strings.Fields(text))
		case "$":
			out.WriteString(line + "\n" + s.run("--exec", text))
		case "$$":
			out.WriteString(line + "\n" + s.run(strings.Split(text, " | ")...))
		}
	}
	return out.String()
}

func (s *stage) event(words []string) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	duration := func() time.Duration {
		d, err := time.ParseDuration(arg(1))
		require.NoError(s.t, err)
		return d
	}
	do := func(f func(*model.Cluster)) { s.world.Do(f) }
	switch words[0] {
	case "cluster":
		spec := model.Spec{Version: arg(1), Shards: 6, PerZone: 2}
		if arg(2) == "names" {
			spec.Host = func(n int) string { return fmt.Sprintf("fdb-%d.fdb:4500", n) }
		}
		s.spec = spec
		now := time.Unix(0, 0)
		s.world = world.New(model.New(spec), world.Options{Clock: func() time.Time { return now }})
	case "kill":
		do(func(m *model.Cluster) { m.Kill(arg(1)) })
	case "start":
		do(func(m *model.Cluster) { m.Start(arg(1)) })
	case "kill-zone":
		do(func(m *model.Cluster) {
			for _, i := range m.InZone(arg(1)) {
				m.Kill(i)
			}
		})
	case "lock":
		do(func(m *model.Cluster) { m.LockUID = "1" })
	case "lose-name":
		do(func(m *model.Cluster) { m.Unresolved = words[1:] })
	case "advance":
		do(func(m *model.Cluster) { m.Advance(duration()) })
	case "settle":
		do(func(m *model.Cluster) { require.True(s.t, m.Settle(24*time.Hour)) })
	case "disk":
		do(func(m *model.Cluster) {
			for _, p := range m.Processes {
				p.Disk = 320 << 20
			}
		})
	case "fault":
		s.world.Fault("", wire.Fault(arg(1)))
	case "vanish":
		s.other, s.world = s.world, nil
	case "appear":
		s.world, s.other = s.other, nil
	default:
		require.FailNow(s.t, "no such event", words)
	}
}

func (s *stage) run(args ...string) string {
	var out bytes.Buffer
	stdout, stderr := &lines{to: &out, prefix: "1|"}, &lines{to: &out, prefix: "2|"}
	version, err := model.ParseVersion(s.spec.Version)
	require.NoError(s.t, err)
	p := Program{
		Version: version, Stdout: stdout, Stderr: stderr, ClusterFile: "/etc/foundationdb/fdb.cluster", IsDefault: true,
		Poll: time.Millisecond, Patience: time.Millisecond, KillDelay: time.Millisecond, WarnAfter: time.Minute, Reach: time.Millisecond, Clock: func() time.Time { return time.Unix(1, 0) },
		Open: func(file string) (Database, error) {
			switch file {
			case "/missing":
				return nil, wire.ErrNoClusterFile
			case "/broken":
				return nil, wire.ErrConnectionString
			}
			return s, nil
		},
	}
	if len(args) > 2 && args[2] == "default" {
		args, p.Open = args[:2], func(string) (Database, error) { return nil, wire.ErrNoClusterFile }
	}
	code := p.Run(s.t.Context(), args)
	stdout.end()
	stderr.end()
	return out.String() + fmt.Sprintf("= %d\n", code)
}

// Ask returns from the world, in which a second goes by.
func (s *stage) Ask(ctx context.Context, r wire.Request) (wire.Reply, error) {
	if s.world == nil {
		return wire.Reply{}, ErrNobody
	}
	s.world.Do(func(m *model.Cluster) {
		r.Connection = m.Key()
		if r.Op != wire.Open {
			m.Advance(time.Second)
		}
	})
	return s.world.Ask(ctx, r)
}

func (s *stage) Coordinators() []string {
	return []string{"10.8.0.10:4500", "10.8.0.11:4500", "10.8.0.12:4500"}
}

// lines marks each line with where it was printed.
type lines struct {
	to     io.Writer
	prefix string
	rest   string
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest += string(p)
	for {
		line, rest, whole := strings.Cut(l.rest, "\n")
		if !whole {
			return len(p), nil
		}
		l.rest = rest
		l.print(line)
	}
}

func (l *lines) print(line string) {
	if line != "" {
		line = " " + line
	}
	fmt.Fprintln(l.to, l.prefix+line)
}

// end prints what no line end followed.
func (l *lines) end() {
	if l.rest != "" {
		l.print(l.rest + "<no line end>")
		l.rest = ""
	}
}
