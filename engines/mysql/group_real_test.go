package mysql

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// startGroup starts servers as one group; the first is its primary.
func startGroup(t *testing.T, count int) []*mysqltest.Server {
	servers := mysqltest.Start(t, mysqltest.Options{Flavor: mysqltest.MySQL, Servers: count, Alone: true, AsStarted: true, Settings: map[string]string{
		"plugin_load_add":                                 "semisync_source.so;semisync_replica.so;mysql_clone.so;group_replication.so",
		"loose_group_replication_group_name":              "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa",
		"loose_group_replication_start_on_boot":           "OFF",
		"loose_group_replication_message_cache_size":      "134217728",
		"loose_group_replication_recovery_get_public_key": "ON",
	}})
	var seeds []string
	for _, port := range freeport.Take(t, count) {
		seeds = append(seeds, fmt.Sprintf("127.0.0.1:%d", port))
	}
	for i, s := range servers {
		s.Exec(
			fmt.Sprintf("SET GLOBAL group_replication_local_address = '%s'", seeds[i]),
			fmt.Sprintf("SET GLOBAL group_replication_group_seeds = '%s'", strings.Join(seeds, ",")),
			fmt.Sprintf("SET GLOBAL group_replication_bootstrap_group = %d", map[bool]int{true: 1}[i == 0]),
			fmt.Sprintf("START GROUP_REPLICATION USER='%s', PASSWORD='%s'", mysqltest.ReplicaUser, mysqltest.ReplicaPassword),
			"SET GLOBAL group_replication_bootstrap_group = 0",
		)
	}
	servers[0].Exec("GRANT GROUP_REPLICATION_ADMIN ON *.* TO '" + mysqltest.AgentUser + "'@'127.0.0.1'")
	online := fmt.Sprintf("SELECT COUNT(*) = %d FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'", count)
	for deadline := time.Now().Add(time.Minute); servers[0].Value(online) != "1"; time.Sleep(100 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline))
	}
	return servers
}

// TestRealGroup: group replication is seen as it is, and elects whom it is asked to.
func TestRealGroup(t *testing.T) {
	servers := startGroup(t, 2)
	agents := []*local{agentAt(t, servers[0]), agentAt(t, servers[1])}
	first, second := lookAt(t, agents[0]), lookAt(t, agents[1])
	require.Equal(t, Allowed, first.Writes)
	require.NotEqual(t, Allowed, second.Writes)
	require.True(t, first.Group.Primary && first.Group.Quorum && second.Group.Quorum)
	require.Nil(t, second.Source, "its channels are the group's own")
	require.False(t, first.StartsWritable)

	servers[1].AwaitExecuted(servers[0])
	require.NoError(t, agents[0].electPrimary(t.Context(), second.ID))
	first, second = lookAt(t, agents[0]), lookAt(t, agents[1])
	require.Equal(t, Allowed, second.Writes)
	require.NotEqual(t, Allowed, first.Writes)
	require.Error(t, agents[0].electPrimary(t.Context(), "nobody"))
}

// TestRealGroupHandover: the group moves its primary while a client writes, and its
// members keep all that was acknowledged.
func TestRealGroupHandover(t *testing.T) {
	if !*allBreaks {
		t.Skip("only with -breaks.all: make test-mysql-all")
	}
	servers := startGroup(t, 3)
	w := newRealWorldOf(t, servers)
	primary := 0
	for i, then := range []realPhase{tends, restores} {
		w.client.more(w)
		r := roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
		w.order(r, fmt.Sprintf("claim-%d", i), then, nil, servers[r.to].Address())
		w.carriedOut(r.from)
		require.Equal(t, []int{r.to}, w.writers())
		primary = r.to
		w.client.more(w)
		w.client.check(w, primary)
		w.good("handed over")
		t.Logf("%d writes acknowledged; longest without one: %s", w.client.total(), w.client.longest().Round(time.Millisecond))
	}
}
