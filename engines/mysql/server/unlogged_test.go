package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

func TestUnlogged(t *testing.T) {
	for _, c := range []struct{ do, ignore, want string }{
		{"", "", ""},
		{"", "sys,Performance_Schema,information_schema", ""},
		{"", "sys,app,mysql", "(binlog_ignore_db=app,mysql)"},
		{"app", "sys", "(binlog_do_db=app)"},
	} {
		said := unlogged(sql.Row{"binlog_do_db": c.do, "binlog_ignore_db": c.ignore})
		require.Equal(t, c.want != "", said != "", said)
		require.Contains(t, said, c.want)
	}
}

// TestRealUnlogged checks that a server tells that it leaves a database out of its log, also when it
// is asked again.
func TestRealUnlogged(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		l := agentAt(t, mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 1, Settings: map[string]string{"binlog_ignore_db": "app"}})[0])
		for range 2 {
			require.Contains(t, lookAt(t, l).Unlogged, "(binlog_ignore_db=app)")
		}
	})
}
