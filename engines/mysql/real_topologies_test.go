package mysql

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/sql/grants"
)

// These run the suite on the other topologies, all of it with -breaks.all: make test-mysql-all.
func topologyHarness() enginetest.Harness {
	return enginetest.Harness{Role: true, Quick: !*allBreaks, Patience: 10 * time.Second, Eventually: 45 * time.Second}
}

// TestRealConformanceFixedPrimary runs it on servers whose primary restarts in place, and that lack all
// that only a switchover needs. Nothing changes on any of them.
func TestRealConformanceFixedPrimary(t *testing.T) {
	broadly(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers, names, pods := startChart(t, flavor)
		r := behindFronts(t, servers)
		r.names = names
		before := standing(servers)
		changed := func() (out []string) {
			if now := standing(servers); !slices.Equal(before, now) {
				out = append(out, fmt.Sprintf("%q was %q", now, before))
			}
			return out
		}
		h := topologyHarness()
		h.InPlace, h.NoEvacuate = true, true // servers without GTIDs cannot tell that another one has the data
		h.Start = func(t *testing.T) enginetest.Database {
			r.heal()
			d := r.members(t, changed, func(i int, o *Options) { o.Peers, o.Pod = podPeers{o.Peers, pods}, pods[names[i]] })
			d.Leads = func(i int) int { return map[int]int{0: 2}[i] }
			d.Hosts = func(i int) int { return map[int]int{0: 2, 1: 1, 2: 1}[i] }
			return d
		}
		enginetest.Run(t, h)
	})
}

// TestRealConformanceSingleServer runs it on a server that is alone and starts writable.
func TestRealConformanceSingleServer(t *testing.T) {
	broadly(t, func(t *testing.T, flavor mysqltest.Flavor) {
		settings := map[string]string{"read_only": "OFF", "report_host": ""}
		if flavor == mysqltest.MySQL {
			settings["super_read_only"] = "OFF"
		}
		r := behindFronts(t, mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 1, Settings: settings}))
		r.names = namesOf(t, r.servers)
		before := standing(r.servers)
		h := topologyHarness()
		h.InPlace, h.Alone, h.NoEvacuate = true, true, true // nobody else has its data
		h.Start = func(t *testing.T) enginetest.Database {
			r.heal()
			return r.members(t, func() []string {
				if now := standing(r.servers); !slices.Equal(before, now) {
					return now
				}
				return nil
			}, nil)
		}
		enginetest.Run(t, h)
	})
}

// TestRealConformanceGroup runs it on a group, which elects another primary.
func TestRealConformanceGroup(t *testing.T) {
	r := behindFronts(t, mysqltest.StartGroup(t, 3))
	online := func() []string {
		var out []string
		for _, s := range r.servers {
			for _, m := range s.Rows("SELECT MEMBER_HOST, MEMBER_PORT, MEMBER_STATE FROM performance_schema.replication_group_members WHERE MEMBER_STATE <> 'ONLINE'") {
				out = append(out, fmt.Sprintf("%s: %v", s.Address(), m))
			}
		}
		return out
	}
	h := topologyHarness()
	h.Elects = true
	h.Start = func(t *testing.T) enginetest.Database {
		r.heal()
		if r.leads(0) == 0 {
			r.servers[0].Exec("SELECT group_replication_set_as_primary(@@server_uuid)")
		}
		d := r.members(t, online, nil)
		d.Hosts = func(int) int { return 3 }
		return d
	}
	enginetest.Run(t, h)
	t.Run("grants", func(t *testing.T) {
		r.servers[0].Exec("SELECT group_replication_set_as_primary(@@server_uuid)")
		m := membersAt(t, r.servers)
		list := grants.For("MySQL", engines.GroupReplication.String())
		require.Equal(t, []string{"GROUP_REPLICATION_ADMIN"}, m.eachMissing(0, list))
		m.await(0, "green", green)
		m.prepare(0, "all")
		require.Zero(t, r.leads(0))
		require.Len(t, m.writable(), 1)
	})
}
