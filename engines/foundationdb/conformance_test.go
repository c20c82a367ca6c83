package foundationdb

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/race"
)

// simulated is a simulated cluster and, before its fdbcli, one script for each pod
// that misbehaves as it is told.
type simulated struct {
	*fdbsimtest.Cluster
	t    testing.TB
	dir  string
	pods []string
}

func simulate(t testing.TB, o fdbsimtest.Options) *simulated {
	if o.Zones == 0 {
		o.Zones, o.PerZone = 4, 3
	}
	s := &simulated{Cluster: fdbsimtest.Start(t, o), t: t, dir: t.TempDir()}
	// The first zone's pods first.
	m := s.Model()
	for _, zone := range m.Zones() {
		s.pods = append(s.pods, m.InZone(zone)...)
	}
	s.set("changes", "-1")
	for _, pod := range s.pods {
		script := strings.NewReplacer("@CLI@", s.CLI, "@DIR@", s.dir, "@POD@", pod).Replace(frontScript)
		require.NoError(t, os.WriteFile(s.client(pod), []byte(script), 0o755))
	}
	return s
}

// frontScript stands before fdbcli.
const frontScript = `#!/bin/bash
fault=$(cat "@DIR@/fault-@POD@" 2>/dev/null)
case "$fault" in
Gone) echo "ERROR: no coordinator can be reached" >&2; exit 1 ;;
Hung) trap '' TERM; sleep 600 & wait; exit 0 ;;
Garbage) head -c 20000 /dev/urandom; exit 0 ;;
Endless) echo '{"client":{"messages":['; exec yes '{"name":"x"},' ;;
Truncated) "@CLI@" "$@" | head -c 600; exit 0 ;;
WrongServer) "@CLI@" "$@" | sed 's/"connection_string" *: *"[^:]*:/"connection_string":"other:/'; exit 0 ;;
Denied) echo "ERROR: the certificate is not accepted" >&2; exit 1 ;;
Failing) echo "ERROR: internal error (4100)" >&2; exit 1 ;;
esac
case "$4" in
"exclude "*|"include "*|"maintenance o"*|*"; maintenance o"*|"coordinators "*)
	left=$(cat "@DIR@/changes")
	if [ "$left" = 0 ]; then echo "ERROR: changes fail" >&2; exit 1; fi
	if [ "$left" -gt 0 ]; then echo $((left - 1)) >"@DIR@/changes"; fi ;;
esac
exec "@CLI@" "$@"
`

func (s *simulated) client(pod string) string { return filepath.Join(s.dir, "fdbcli-"+pod) }

func (s *simulated) set(name, value string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(value), 0o600))
}

func (s *simulated) options(pod string) Options {
	return Options{
		Instance: pod, Client: s.client(pod), ClusterFile: s.ClusterFile,
		Timeout: time.Minute, MaxBytes: 4 << 20, Recovered: time.Nanosecond, Maintenance: 100 * time.Hour,
	}
}

func (s *simulated) engine(pod string) *Engine {
	e, err := New(s.options(pod))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, e.Close()) })
	e.now = func() time.Time { return time.Now().Add(s.Model().Now) } // so that what was seen before an Advance is old
	return e
}

// hosts counts from the model what the groups have of a pod.
func (s *simulated) hosts(pod string) int {
	m := s.Model()
	p := m.Process(pod)
	n := 0
	for _, server := range m.Servers {
		n += boolInt(server.Process == pod)
	}
	n += boolInt(slices.ContainsFunc(m.Generations, func(g *model.Generation) bool {
		return slices.ContainsFunc(g.Logs, func(l model.Log) bool { return l.Process == pod })
	}))
	excluded := slices.ContainsFunc(m.Excluded, func(t string) bool { return p.Matches(t, p.Address) })
	n += boolInt(p.Class == model.Unset && !excluded)
	for _, seat := range m.Seats {
		n += boolInt(seat.Address == p.Address)
	}
	return n + boolInt(!excluded || n > 0) // and all that are not emptied are in fault_tolerance
}

const foreignTarget = "locality_instance_id:somebody-else-7"

func (s *simulated) leftovers() []string {
	return slices.DeleteFunc(slices.Clone(s.Model().Excluded), func(t string) bool { return t == foreignTarget || t == "10.99.99.99" })
}

func TestConformance(t *testing.T) {
	for i, version := range []string{"7.3.63", "7.1.67", "6.3.25"} {
		if !race.Part(i, 15) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			enginetest.Run(t, enginetest.Harness{
				Leaderless: true, Patience: 2 * time.Minute, Eventually: 5 * time.Minute,
				Start: func(t *testing.T) enginetest.Database {
					s := simulate(t, fdbsimtest.Options{Version: version, Scale: 300})
					var made []*Engine
					limit := time.Minute
					return enginetest.Database{
						Members: s.pods,
						Engine: func(i int) engines.Engine {
							e, err := New(s.options(s.pods[i]))
							require.NoError(t, err)
							e.client.options.Timeout = limit
							made = append(made, e)
							if v, _ := parseVersion(version); !v.localities() {
								_, _ = e.Observe(t.Context()) // how old a recovery is shows from the second look on
							}
							return e
						},
						Fault: func(i int, f enginetest.Fault) {
							if limit = time.Minute; f == enginetest.Hung { // only one that hangs is waited for in vain
								limit = 4 * time.Second
							}
							for _, e := range made {
								e.client.options.Timeout = limit
							}
							s.set("fault-"+s.pods[i], faultName(f))
						},
						FailChanges: func(after int) { s.set("changes", strconv.Itoa(after)) },
						Leads:       func(int) int { return 0 },
						Hosts:       func(i int) int { return s.hosts(s.pods[i]) },
						Leftovers:   s.leftovers,
						Foreign: func() func() bool {
							s.Change(func(m *model.Cluster) { m.Exclude([]string{foreignFor(version)}, false) })
							return func() bool { return slices.Contains(s.Model().Excluded, foreignFor(version)) }
						},
					}
				},
			})
		})
	}
}

func foreignFor(version string) string {
	if v, _ := parseVersion(version); !v.localities() {
		return "10.99.99.99"
	}
	return foreignTarget
}

func faultName(f enginetest.Fault) string {
	if f == enginetest.Healthy {
		return ""
	}
	return fmt.Sprint(f)
}
