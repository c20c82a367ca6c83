package solrtest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// creations is how often a collection is tried to be made.
	creations = 3
	// creation is how long one takes at most. On a machine of two processors it
	// takes one or two seconds.
	creation = 45 * time.Second
)

// AwaitElections waits until no node puts a replica into an election anew. A collection that is removed
// meanwhile has no leader any more, for which such a request waits three minutes. It keeps its core open
// for so long, and a new core of the same name waits for that.
func (c *Cluster) AwaitElections() {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		return !slices.ContainsFunc(c.Nodes, func(n *Node) bool {
			body, status, err := n.Try(http.MethodGet, "/solr/admin/info/threads", url.Values{"wt": {"json"}})
			return err != nil || status != http.StatusOK || strings.Contains(string(body), "rejoinShardLeaderElection")
		})
	}, 4*time.Minute, 100*time.Millisecond, "elections of replicas do not end")
}

// Create makes a collection of which all replicas are active. Now and then a Solr that made and
// removed many waits for a core for longer than any test would, and so does each further try under the
// same name. AwaitElections prevents the case that is understood. No test is about the others: the nodes
// say what they wait for, are started again, and the collection is made again.
func (n *Node) Create(name string, pairs ...string) {
	t := n.cluster.t
	t.Helper()
	params := url.Values{"action": {"CREATE"}, "wt": {"json"}, "name": {name}, "waitForFinalState": {"true"}}
	for i := 0; i+1 < len(pairs); i += 2 {
		params.Set(pairs[i], pairs[i+1])
	}
	if strings.HasPrefix(n.Version, "8.") {
		params.Set("maxShardsPerNode", "-1") // which later versions do without
	}
	for try := 1; ; try++ {
		failure := n.attempt(params)
		if failure == nil {
			return
		}
		t.Logf("CREATE %s, try %d: %v\n%s", name, try, failure, n.cluster.Waits())
		require.Less(t, try, creations, "CREATE %s: %v", name, failure)
		n.cluster.restart()
		// Some of it may be there.
		body, status, err := n.Try(http.MethodGet, "/solr/admin/collections", url.Values{"action": {"DELETE"}, "wt": {"json"}, "name": {name}})
		t.Logf("DELETE %s: status %d, %s: %v", name, status, body, err)
	}
}

func (n *Node) attempt(params url.Values) error {
	ctx, cancel := context.WithTimeout(n.cluster.t.Context(), creation)
	defer cancel()
	body, status, err := n.try(ctx, http.MethodGet, "/solr/admin/collections", params)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d, %s", status, body)
	}
	return err
}

// restart ends all nodes and starts them again.
func (c *Cluster) restart() {
	for _, n := range c.Nodes {
		n.Kill()
	}
	for _, n := range c.Nodes {
		n.Start()
	}
	for _, n := range c.Nodes {
		n.AwaitUp()
	}
}

// Waits are the stacks of the nodes' threads that make, close or register cores.
func (c *Cluster) Waits() string {
	var out strings.Builder
	for _, n := range c.Nodes {
		n.process.Signal(syscall.SIGQUIT)
	}
	time.Sleep(2 * time.Second) // until they have written
	for _, n := range c.Nodes {
		fmt.Fprintf(&out, "%s:\n%s\n", n.Name, strings.Join(coreStacks(n.process.Output()), "\n"))
	}
	return out.String()
}

// coreStacks picks those stacks of the last dump of all threads that are about cores.
func coreStacks(said string) []string {
	start := strings.LastIndex(said, "Full thread dump")
	if start < 0 {
		return []string{"no dump of threads"}
	}
	dump := said[start:]
	var out []string
	for stack := range strings.SplitSeq(dump, "\n\n") {
		about := func(part string) bool { return strings.Contains(stack, "org.apache.solr."+part) }
		if strings.HasPrefix(stack, `"`) && slices.ContainsFunc([]string{"core.", "handler.admin.", "cloud."}, about) {
			lines := strings.Split(stack, "\n")
			out = append(out, strings.Join(lines[:min(len(lines), 25)], "\n"))
		}
	}
	return out
}
