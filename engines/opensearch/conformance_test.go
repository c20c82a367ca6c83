package opensearch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

const testPassword = "correct-horse-battery"

func testCredentials() (string, credentials.Secret, error) {
	return "rollcall", credentials.NewSecret(testPassword), nil
}

// testOptions are small, so that faults show. Only in virtual time is anything that
// does not answer waited for.
func testOptions(o Options) Options {
	o.Timeout, o.WriteTimeout, o.MaxBytes = time.Minute, time.Minute, 256<<10
	o.Credentials = testCredentials
	return o
}

func mustNew(t *testing.T, o Options) *Engine {
	e, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{Virtual: true, Patience: 5 * time.Minute, Eventually: 10 * time.Minute, Start: func(t *testing.T) enginetest.Database {
		c := newFakeCluster(t, 4, "cluster_manager", "data")
		c.add("books/0", 0, 1, 2)
		c.add("books/1", 1, 2, 0)
		c.add("pages/0", 2, 3, 0)
		c.add("notes/0", 0)
		return enginetest.Database{
			Members: c.names,
			Engine: func(i int) engines.Engine {
				e, err := New(testOptions(c.options(i)))
				require.NoError(t, err)
				return e
			},
			Fault:       c.fault,
			FailChanges: c.allowed.Set,
			Leads:       c.leads,
			Hosts:       c.hosts,
			Leftovers:   c.leftovers,
			Foreign:     c.foreign,
			Secrets:     []string{testPassword, web.BasicToken("rollcall", credentials.NewSecret(testPassword))},
			Connections: c.conns.Open,
		}
	}})
}
