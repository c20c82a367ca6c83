package server

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// TestNewReplicaWithoutTLS checks what a server that follows nobody yet is told about TLS: to do
// without only where it has none itself.
func TestNewReplicaWithoutTLS(t *testing.T) {
	for name, c := range map[string]struct{ version, off, want string }{
		"MariaDB that has none": {"11.8.9-MariaDB", "1", "MASTER_SSL = 0"},
		"MariaDB that has it":   {"11.8.9-MariaDB", "0", ""},
		"MySQL demands none":    {"9.7.4", "1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			changed := ""
			o := listen(t, mysqltest.Speaking(func(w *mysqltest.Wire, q string) error {
				switch {
				case strings.HasPrefix(q, "SELECT VERSION()"):
					return w.AnswerOne("version", c.version)
				case strings.Contains(q, "@@have_ssl"):
					return w.AnswerOne("off", c.off)
				case strings.HasPrefix(q, "SHOW ALL REPLICAS STATUS"), strings.HasPrefix(q, "SHOW REPLICA STATUS"):
					return answerNone(w, "Master_Host")
				case strings.HasPrefix(q, "CHANGE "):
					mu.Lock()
					changed = q
					mu.Unlock()
				}
				return w.Send(mysqltest.Okay)
			}))
			o.Credentials, o.ReplicationCredentials = mysqltest.Fixed("me", wirePassword), mysqltest.Fixed("replica", wirePassword)
			l, err := New(o)
			require.NoError(t, err)
			defer l.Close()
			require.NoError(t, l.Follow(t.Context(), "db-1.db", 3306, true))
			mu.Lock()
			defer mu.Unlock()
			require.Contains(t, changed, "db-1.db")
			if c.want == "" {
				require.NotContains(t, changed, "_SSL")
			} else {
				require.Contains(t, changed, c.want)
			}
		})
	}
}
