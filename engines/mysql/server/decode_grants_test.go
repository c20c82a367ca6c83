package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

// TestDecodeGrants reads what real servers say, those of a role too, and claims nothing that they do not
// say.
func TestDecodeGrants(t *testing.T) {
	const to = " ON *.* TO `rollcall`@`127.0.0.1`"
	for name, c := range map[string]struct {
		flavor replication.Flavor
		says   []string
		lacks  []string
	}{
		"all": {replication.MySQL, []string{
			"GRANT RELOAD, PROCESS, REPLICATION SLAVE, REPLICATION CLIENT" + to, "GRANT CONNECTION_ADMIN,REPLICATION_SLAVE_ADMIN,SYSTEM_VARIABLES_ADMIN" + to, "GRANT SELECT ON `performance_schema`.*" + to[7:],
		}, nil},
		"some":     {replication.MySQL, []string{"GRANT PROCESS" + to, "GRANT CONNECTION_ADMIN,SYSTEM_VARIABLES_ADMIN" + to, "GRANT RELOAD ON `app`.* TO x"}, []string{"REPLICATION_SLAVE_ADMIN", "RELOAD"}},
		"SUPER":    {replication.MySQL, []string{"GRANT SUPER" + to}, nil},
		"MariaDB":  {replication.MariaDB, []string{"GRANT RELOAD, CONNECTION ADMIN, READ_ONLY ADMIN" + to + " IDENTIFIED BY PASSWORD '*C59'"}, []string{"REPLICATION SLAVE ADMIN"}},
		"anything": {replication.MariaDB, []string{"GRANT ALL PRIVILEGES" + to + " IDENTIFIED BY PASSWORD '*C59'"}, nil},
		"a role": {replication.MariaDB, []string{
			"GRANT `r1` TO `ro`@`127.0.0.1`", "GRANT USAGE" + to, "GRANT RELOAD, READ_ONLY ADMIN, CONNECTION ADMIN ON *.* TO `r1`", "SET DEFAULT ROLE `r1` FOR x",
		}, []string{"REPLICATION SLAVE ADMIN"}},
		"nothing": {replication.MySQL, nil, nil},
		"foreign": {replication.MySQL, []string{"", "GRANT", "GRANT  ON *.* TO "}, nil},
	} {
		a := replicaOfMySQL()
		if c.flavor == replication.MariaDB {
			a = replicaOfMariaDB()
		}
		for _, text := range c.says {
			a.grants = append(a.grants, sql.Row{"grants for rollcall@127.0.0.1": text})
		}
		s := a.state(dialects[c.flavor], time.Unix(0, 0))
		require.Equal(t, c.lacks, s.Lacks, name)
		require.True(t, s.Serving, "what only a handover needs is no reason not to report")
	}
	a := replicaOfMySQL()
	a.grants = []sql.Row{{"x": "GRANT PROCESS" + to}}
	require.Equal(t, []string{"GROUP_REPLICATION_ADMIN"}, a.lacks(dialects[replication.MySQL], true))
}
