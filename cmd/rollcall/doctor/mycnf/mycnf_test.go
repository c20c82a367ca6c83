package mycnf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRead checks what the server reads of a file.
func TestRead(t *testing.T) {
	options, missing := Read(Files{"/etc/my.cnf": `
# a comment
; another
log_bin = not-of-a-group
[client]
read_only = ON
[mysqld]
Read-Only = 1   # at its start
report_host="db-0.db # not a comment"
log-bin
skip-slave-start
skip_log_slave_updates
loose-gtid_mode = 'ON'
server_id=1
 server-id = 7
wsrep_provider_options = "gcache.size=1G"
[mysqldump]
server_id = 9
[mariadb-11.4]
gtid_strict_mode=ON
[mariadb-dump]
wsrep_on = ON
[galera]
wsrep_on = ON
`}, "/etc/my.cnf")
	require.Empty(t, missing)
	got := map[string]string{}
	for name, o := range options {
		require.Equal(t, "/etc/my.cnf", o.File)
		got[name] = o.Value
	}
	require.Equal(t, map[string]string{
		"read_only": "1", "report_host": "db-0.db # not a comment", "log_bin": "", "slave_start": "OFF", "log_slave_updates": "OFF",
		"gtid_mode": "ON", "server_id": "7", "wsrep_provider_options": "gcache.size=1G", "gtid_strict_mode": "ON", "wsrep_on": "ON",
	}, got)
}

// TestIncludes checks that included files count in their place, and that those that are not there
// are named.
func TestIncludes(t *testing.T) {
	files := Files{
		"/etc/my.cnf":           "[mysqld]\nserver_id=1\nread_only=0\n!includedir /etc/conf.d/\n!include /etc/last.cnf\n",
		"/etc/conf.d/b.cnf":     "[mysqld]\nserver_id=3\n",
		"/etc/conf.d/a.cnf":     "[mysqld]\nserver_id=2\nread_only=1\n",
		"/etc/conf.d/notes.txt": "[mysqld]\nserver_id=4\n",
		"/etc/conf.d/sub/c.cnf": "[mysqld]\nserver_id=5\n",
		"/etc/last.cnf":         "!include /etc/galera.cnf\n!includedir /etc/none\n",
	}
	options, missing := Read(files, "/etc/my.cnf")
	require.Equal(t, Options{"server_id": {"3", "/etc/conf.d/b.cnf"}, "read_only": {"1", "/etc/conf.d/a.cnf"}}, options)
	require.Equal(t, []string{"/etc/galera.cnf", "/etc/none"}, missing)

	options, missing = Read(Files{"/a.cnf": "[mysqld]\nport=1\n!include /a.cnf\n"}, "/a.cnf", "/b.cnf")
	require.Equal(t, "1", options["port"].Value, "a file that includes itself ends")
	require.Equal(t, []string{"/a.cnf", "/b.cnf"}, missing)
}

func FuzzRead(f *testing.F) {
	f.Add("[mysqld]\nread-only\n!include /a\n!includedir /\n[x\n=\n'")
	f.Fuzz(func(t *testing.T, text string) {
		options, _ := Read(Files{"/a.cnf": text, "/a": text}, "/a.cnf")
		for name := range options {
			require.NotEmpty(t, name)
			require.NotContains(t, name, "-")
			require.Equal(t, strings.TrimSpace(name), name)
		}
	})
}
