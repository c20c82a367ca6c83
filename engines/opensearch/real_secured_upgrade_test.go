package opensearch

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/rollcall-dev/rollcall/engines/opensearch/opensearchtest"
)

// TestRealSecuredUpgrade takes a cluster with managers, data and a coordinating node from the oldest to the newest version
// with the security plugin, as agents with the smallest role and a client's certificate would, while documents are written
// and, half way, all certificates change: no request is refused and none is lost.
func TestRealSecuredUpgrade(t *testing.T) {
	if os.Getenv(envAll) == "" {
		t.Skip(envAll + " is not set")
	}
	from, to := opensearchtest.SecuredVersions[0], opensearchtest.SecuredVersions[len(opensearchtest.SecuredVersions)-1]
	opensearchtest.Home(t, from, to)
	const manager, data, coordinating = "cluster_manager", "data, ingest", " "
	c := opensearchtest.Start(t, opensearchtest.Options{
		Versions: []string{from, from, from, from, from, from},
		Roles:    []string{manager, manager, manager, data, data, coordinating},
		Security: &opensearchtest.Security{ClientCertificates: true, Reload: true},
	})
	n := c.Nodes[0]
	createUser(n, SmallestRole())
	n.CreateIndex("documents", 2, 1)
	n.CreateIndex("segments", 1, 1)
	n.AwaitHealth("green", len(c.Nodes))
	cert, key := c.Authority.Issue(authority.Leaf{Name: "agent"})
	engine := func(t *testing.T, n *opensearchtest.Node) *Engine {
		access := agentAccess(c, n)
		access.TLS.Cert, access.TLS.Key = cert, credentials.NewSecret(key)
		return mustNew(t, Options{Access: access})
	}

	w := &writer{nodes: c.Nodes, failures: make(chan string, 3)}
	w.away.Store(-1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.run(ctx) }()
	said := roll(t, c, rolling{to: to, engine: engine, away: &w.away, after: func(updated int) {
		if updated != len(c.Nodes)/2 {
			return
		}
		before := map[string]string{}
		for _, node := range c.Nodes {
			before[node.Name] = node.Serial()
			node.Certify(authority.Leaf{})
		}
		cert, key = c.Authority.Issue(authority.Leaf{Name: "agent"})
		for _, node := range c.Nodes {
			require.Eventually(t, func() bool { return node.Serial() != before[node.Name] }, time.Minute, 500*time.Millisecond, "%s was to show another certificate", node.Name)
		}
	}})
	await(t, engine(t, n), "whole", func(o engines.Observation) bool { return o.Settled && o.Health.Verdict == engines.VerdictGreen })
	cancel()
	<-ended
	t.Logf("%d documents; said: %s", w.wrote.Load(), strings.Join(said, "\n"))
	require.Zero(t, w.refused.Load(), "%s", drain(w.failures))
	n.Call("POST", "/documents,segments/_refresh", "")
	var answer struct{ Count int64 }
	require.NoError(t, json.Unmarshal(n.Call("GET", "/documents,segments/_count", ""), &answer))
	require.Equal(t, w.wrote.Load(), answer.Count)
}
