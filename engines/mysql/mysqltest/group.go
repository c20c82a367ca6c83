package mysqltest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
)

// StartGroup starts servers as one group; the first is its primary.
func StartGroup(t testing.TB, count int) []*Server {
	servers := Start(t, Options{Flavor: MySQL, Servers: count, Alone: true, AsStarted: true, Settings: map[string]string{
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
			fmt.Sprintf("START GROUP_REPLICATION USER='%s', PASSWORD='%s'", ReplicaUser, ReplicaPassword),
			"SET GLOBAL group_replication_bootstrap_group = 0",
		)
	}
	servers[0].Exec("GRANT GROUP_REPLICATION_ADMIN ON *.* TO '" + AgentUser + "'@'127.0.0.1'")
	online := fmt.Sprintf("SELECT COUNT(*) = %d FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'", count)
	for deadline := time.Now().Add(time.Minute); servers[0].Value(online) != "1"; time.Sleep(100 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline))
	}
	return servers
}
