package solr

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/test/e2e/load"
)

// rollout restarts all nodes of a cluster under load as agents and coordinator do it: leaders are handed over, the node
// stops, starts as the other version, and the next one waits until the cluster is whole.
type rollout struct {
	c      *solrtest.Cluster
	engine func(n *solrtest.Node) *Engine
	// client is the URL by which clients without TLS and credentials reach the node.
	client func(n *solrtest.Node) string
	to     string // version; empty means the same
	// collections are written and read all the time.
	collections []string
}

// run returns what the clients saw. No acknowledged document may be gone.
func (r rollout) run(t *testing.T) load.Stats {
	var away atomic.Int64
	away.Store(-1)
	client, err := load.New(load.Options{Prefix: "r", Collections: r.collections, Targets: func() []string {
		var urls []string
		for i, n := range r.c.Nodes {
			if int64(i) != away.Load() {
				urls = append(urls, r.client(n))
			}
		}
		return urls
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan load.Stats)
	go func() { ended <- client.Run(ctx) }()
	for _, n := range r.order(t) {
		i := slices.Index(r.c.Nodes, n)
		e := r.engine(n)
		await(t, e, "before", whole)
		begin := time.Now()
		undo, detail := prepare(t, e, engines.Order{Kind: engines.Handoff, Claim: fmt.Sprintf("restart-%d", i), Eligible: r.oldest(n)})
		t.Logf("node %d: handed over in %s %s", i, time.Since(begin).Round(time.Millisecond), detail)
		away.Store(int64(i)) // as when the pod leaves the Service
		time.Sleep(200 * time.Millisecond)
		n.Stop()
		if r.to != "" {
			n.Version = r.to
		}
		n.Start()
		o := await(t, e, "back", whole)
		require.Equal(t, n.Version, o.Version)
		away.Store(-1)
		restoreAll(t, e, undo)
	}
	time.Sleep(time.Second)
	cancel()
	stats := <-ended
	for _, name := range r.collections {
		// A search may be answered by a copy of type TLOG or PULL, which shows a document when it has fetched it.
		gone, err := client.Gone(name)
		for end := time.Now().Add(time.Minute); (err != nil || len(gone) > 0) && time.Now().Before(end); gone, err = client.Gone(name) {
			time.Sleep(3 * time.Second)
		}
		require.NoError(t, err)
		require.Empty(t, gone, "acknowledged, and gone: %s", name)
	}
	t.Logf("%+v", stats)
	require.Empty(t, leftProperties(r.c))
	return stats
}

// oldest are the nodes to which the policy lets leaders move: those of the oldest version.
func (r rollout) oldest(goes *solrtest.Node) []string {
	byVersion := map[string][]string{}
	for _, n := range r.c.Nodes {
		if n != goes {
			byVersion[n.Version] = append(byVersion[n.Version], n.Name)
		}
	}
	if old := byVersion[goes.Version]; len(old) > 0 {
		return old
	}
	return byVersion[r.to]
}

// order is that of the policy: the overseer last.
func (r rollout) order(t *testing.T) []*solrtest.Node {
	last := overseerOf(t, r.c)
	nodes := slices.DeleteFunc(slices.Clone(r.c.Nodes), func(n *solrtest.Node) bool { return n == last })
	return append(nodes, last)
}

func plain(t *testing.T, c *solrtest.Cluster, to string, collections ...string) rollout {
	return rollout{
		c: c, to: to, collections: collections,
		engine: func(n *solrtest.Node) *Engine { return realEngine(t, n) },
		client: (*solrtest.Node).URL,
	}
}

// TestRealVersions restarts a cluster of the oldest version, and upgrades one from 9.10 to 10: no request fails, and
// nothing that was acknowledged is gone. TestRealSecuredRollout makes the same upgrade whenever tests run.
func TestRealVersions(t *testing.T) {
	if os.Getenv(solrtest.EnvAll) == "" {
		t.Skip(solrtest.EnvAll + " is not set")
	}
	for _, v := range [][2]string{{"8.11.4", ""}, {"9.10.1", "10.0.0"}} {
		t.Run(v[0]+" to "+v[1], func(t *testing.T) {
			c := solrtest.Start(t, solrtest.Options{Versions: []string{v[0], v[0], v[0]}, SessionTimeout: 6 * time.Second})
			c.Nodes[0].Create("books", "numShards", "2", "nrtReplicas", "3")
			c.Nodes[0].Create("pages", "numShards", "2", "tlogReplicas", "2", "pullReplicas", "1")
			stats := plain(t, c, v[1], "books", "pages").run(t)
			require.Zero(t, stats.Failed)
		})
	}
}

// TestRealSecuredRollout upgrades a cluster with basic authentication, TLS and certificates of everybody who connects, with
// agents whose user may do no more than the documents say.
func TestRealSecuredRollout(t *testing.T) {
	t.Parallel() // each has a cluster of its own
	c := solrtest.Start(t, solrtest.Options{
		Versions: []string{"9.10.1", "9.10.1", "9.10.1"}, SessionTimeout: 6 * time.Second, TLS: true, ClientCertificates: true,
		Security: securityWith(SmallestRole()), User: "solr", Password: securedPassword,
	})
	c.Nodes[0].Create("books", "numShards", "2", "nrtReplicas", "3")
	urls := map[*solrtest.Node]string{}
	for _, n := range c.Nodes {
		urls[n] = front(t, c, n)
	}
	stats := rollout{
		c: c, to: "10.0.0", collections: []string{"books"},
		engine: func(n *solrtest.Node) *Engine { return securedEngine(t, c, n, RoleName) },
		client: func(n *solrtest.Node) string { return urls[n] },
	}.run(t)
	require.Zero(t, stats.Failed)
}

func securedEngine(t *testing.T, c *solrtest.Cluster, n *solrtest.Node, user string) *Engine {
	var tls web.TLS
	if c.Authority != nil {
		cert, key := c.Authority.Issue(authority.Leaf{Name: user})
		tls = web.TLS{Enabled: true, CA: c.CA, Cert: cert, Key: credentials.NewSecret(key)}
	}
	return mustNew(t, Options{Access: web.Access{
		Host: n.Host, Port: n.Port, TLS: tls,
		Credentials: func() (string, credentials.Secret, error) { return user, credentials.NewSecret(securedPassword), nil },
	}})
}

// front lets clients in that know neither TLS nor a password, and have no certificate.
func front(t *testing.T, c *solrtest.Cluster, n *solrtest.Node) string {
	target, err := url.Parse(n.URL())
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Transport: c.Transport(),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.SetBasicAuth("solr", securedPassword)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusServiceUnavailable) },
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}
