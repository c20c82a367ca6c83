package fdbreal

import (
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
	"github.com/rollcall-dev/rollcall/engines/foundationdb"
)

// front is a script before fdbcli that misbehaves as it is told, and can let a number of changes through.
const front = `#!/bin/bash
case "$(cat "@DIR@/fault-@POD@" 2>/dev/null)" in
Gone) echo "ERROR: no coordinator can be reached" >&2; exit 1 ;;
Hung) trap '' TERM; sleep 600 & wait; exit 0 ;;
Garbage) head -c 20000 /dev/urandom; exit 0 ;;
Endless) echo '{"client":{"messages":['; exec yes '{"name":"x"},' ;;
Truncated) "@CLI@" "$@" | head -c 600; exit 0 ;;
WrongServer) "@CLI@" "$@" | sed 's/"connection_string" *: *"[^:]*:/"connection_string":"other:/'; exit 0 ;;
Denied) echo "ERROR: the certificate is not accepted" >&2; exit 1 ;;
Failing) echo "ERROR: internal error (4100)" >&2; exit 1 ;;
esac
for word in "$@"; do
	case "$word" in
	"exclude "*|"include "*|"maintenance o"*|"coordinators "*)
		left=$(cat "@DIR@/changes")
		if [ "$left" = 0 ]; then echo "ERROR: changes fail" >&2; exit 1; fi
		if [ "$left" -gt 0 ]; then echo $((left - 1)) >"@DIR@/changes"; fi ;;
	esac
done
exec "@CLI@" "$@"
`

// somebodys is an exclusion that is not Rollcall's.
const somebodys = "locality_instance_id:somebody-else-7"

// TestConformance runs the suite against one database, which is made as new before each case.
func TestConformance(t *testing.T) {
	c := Start(t, Options{Data: 20})
	dir := t.TempDir()
	var members []string
	for _, zone := range zones {
		for _, p := range c.InZone(zone) {
			members = append(members, p.Name)
			script := strings.NewReplacer("@CLI@", c.CLI(), "@DIR@", dir, "@POD@", p.Name).Replace(front)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "fdbcli-"+p.Name), []byte(script), 0o755))
		}
	}
	tell := func(name, value string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600))
	}
	seats := c.seats(t)
	enginetest.Run(t, enginetest.Harness{
		Leaderless: true, SettingsApart: true, Recovers: true, Patience: 2 * time.Minute, Eventually: 6 * time.Minute,
		Start: func(t *testing.T) enginetest.Database {
			for _, pod := range members {
				tell("fault-"+pod, "")
			}
			tell("changes", "-1")
			c.renew(t, seats)
			return enginetest.Database{
				Members: members,
				Engine: func(i int) engines.Engine {
					e, err := foundationdb.New(foundationdb.Options{
						Instance: members[i], Client: filepath.Join(dir, "fdbcli-"+members[i]), ClusterFile: newClient(t, c.CLI(), c.connection()).file,
					})
					require.NoError(t, err)
					return e
				},
				Fault: func(i int, f enginetest.Fault) {
					name := f.String()
					if f == enginetest.Healthy {
						name = ""
					}
					tell("fault-"+members[i], name)
				},
				FailChanges: func(after int) { tell("changes", strconv.Itoa(after)) },
				Leads:       func(int) int { return 0 },
				Hosts:       func(i int) int { return c.hosts(t, c.Pod(members[i])) },
				Leftovers: func() []string {
					left := slices.DeleteFunc(c.excluded(t), func(target string) bool { return target == somebodys })
					if said := c.Admin.must(t, "maintenance"); !strings.Contains(said, "No ongoing maintenance") {
						t.Log(said) // a setting of the whole database, which claims share, is none of a drain's own entries
					}
					return left
				},
				Foreign: func() func() bool {
					c.Admin.must(t, "exclude no_wait "+somebodys)
					return func() bool { return slices.Contains(c.excluded(t), somebodys) }
				},
			}
		},
	})
}

// renew makes the database as it was at first.
func (c *Cluster) renew(t *testing.T, seats []string) {
	c.Admin.must(t, "include all")
	c.Admin.must(t, "maintenance off")
	if have := c.seats(t); !slices.Equal(have, seats) {
		c.Admin.must(t, "coordinators "+strings.Join(seats, " "))
	}
	c.AwaitWhole(5 * time.Minute)
}

// hosts counts what there is on a pod: storage servers, a log, a seat, that it can be made a log, and that it
// is there at all.
func (c *Cluster) hosts(t *testing.T, p *Pod) int {
	t.Helper()
	s, err := c.Admin.status(t.Context(), 20*time.Second)
	require.NoError(t, err)
	n, emptied := 0, true
	for _, listed := range s.Cluster.Processes {
		if listed.Locality["instance_id"] != p.Name {
			continue
		}
		for _, r := range listed.Roles {
			if r.Role == "storage" || r.Role == "log" {
				n++
			}
		}
		if p.Class != "stateless" && !listed.Excluded {
			n++ // a process of class storage is made a log where there is no better one
		}
		emptied = listed.Excluded
	}
	if slices.Contains(s.seats(), p.Seat) {
		n++
	}
	if n > 0 || !emptied {
		n++ // the database counts it among what it can spare
	}
	t.Logf("%s has %v", p.Name, s.roles(p.Name))
	return n
}
