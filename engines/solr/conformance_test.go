package solr

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
	o.Timeout, o.WriteTimeout = time.Minute, time.Minute
	o.Poll, o.MaxBytes = 5*time.Millisecond, 256<<10
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
		c := newFakeCluster(t, 4)
		c.add("books", "shard1", "nnn", 0, 1, 2)
		c.add("books", "shard2", "nnn", 1, 2, 0)
		c.add("pages", "shard1", "ttp", 0, 2, 1)
		c.add("pages", "shard2", "ntn", 0, 1, 2)
		return enginetest.Database{
			Members: c.nodes,
			Engine: func(i int) engines.Engine {
				e, err := New(testOptions(c.options(i)))
				require.NoError(t, err)
				return e
			},
			Fault:       c.fault,
			FailChanges: c.allowed.Set,
			Leads: func(i int) int {
				return c.count(func(r *fakeReplica) bool { return r.leader && r.node == c.nodes[i] })
			},
			Hosts: func(i int) int {
				return c.count(func(r *fakeReplica) bool { return r.node == c.nodes[i] })
			},
			Leftovers:   c.leftovers,
			Foreign:     c.foreign,
			Secrets:     []string{testPassword, web.BasicToken("rollcall", credentials.NewSecret(testPassword))},
			Connections: c.conns.Open,
		}
	}})
}

// foreign is a preferred leader and a property of the same name that people set.
func (c *fakeCluster) foreign() func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine *fakeReplica
	c.each(func(_, _, _ string, r *fakeReplica) {
		if mine == nil && r.leader && r.node == c.nodes[0] {
			mine = r
		}
	})
	mine.properties["property.preferredleader"] = "true"
	mine.properties["property.rollcall"] = "foreign"
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.flush()
		return mine.properties["property.preferredleader"] == "true" && mine.properties["property.rollcall"] == "foreign"
	}
}
