package opensearchtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
	"github.com/rollcall-dev/rollcall/engines/enginetest/process"
)

// Options are the options of a cluster.
type Options struct {
	// Versions are the versions of the nodes, one each, e.g. "2.19.6".
	Versions []string
	// Roles are the roles of the nodes, one each, separated by commas; none: those that OpenSearch
	// gives itself, with cluster_manager and data among them.
	Roles []string
	// Settings for opensearch.yml of all nodes, which win over those of this package.
	Settings map[string]string
	// Security switches the security plugin on, which only SecuredVersions have.
	Security *Security
}

// Cluster is some OpenSearch nodes.
type Cluster struct {
	// Nodes in the order of Options.Versions, named node-0, node-1 and so on.
	Nodes []*Node
	// Authority signs the certificates of a secured cluster.
	Authority *authority.Authority

	t       testing.TB
	home    string
	dir     string
	options Options
	client  *http.Client
}

// Node is one OpenSearch process.
type Node struct {
	Name string
	Host string
	// Port for HTTP.
	Port int
	// Version it runs, or will run when started.
	Version string

	cluster   *Cluster
	roles     string
	transport int
	home      string
	starts    int
	process   *process.Process
}

// Start brings a cluster up and takes it down when the test ends.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	require.True(t, len(options.Roles) == 0 || len(options.Roles) == len(options.Versions), "roles of all nodes or of none")
	c := &Cluster{t: t, home: Home(t, options.Versions...), dir: t.TempDir(), options: options}
	c.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 90 * time.Second}
	if options.Security != nil {
		c.secure()
	}
	t.Cleanup(c.stop)
	ports := freeport.Take(t, 2*len(options.Versions))
	for i, version := range options.Versions {
		name := fmt.Sprintf("node-%d", i)
		n := &Node{
			Name: name, Host: "127.0.0.1", Port: ports[2*i], Version: version,
			cluster: c, transport: ports[2*i+1], home: filepath.Join(c.dir, name),
		}
		if len(options.Roles) > 0 {
			n.roles = options.Roles[i]
		}
		c.Nodes = append(c.Nodes, n)
	}
	for _, n := range c.Nodes {
		n.Start()
	}
	for _, n := range c.Nodes {
		n.AwaitUp()
	}
	return c
}

func (c *Cluster) stop() {
	for _, n := range c.Nodes {
		n.Kill()
	}
	c.client.CloseIdleConnections()
}

// AwaitUp waits until the node answers and knows who manages the cluster.
func (n *Node) AwaitUp() {
	n.cluster.t.Helper()
	n.Await("node did not start", "/_cluster/health", func(health map[string]any) bool {
		return health["discovered_cluster_manager"] == true
	})
}

// AwaitHealth waits until the cluster has this colour and number of nodes, and
// nothing moves.
func (n *Node) AwaitHealth(status string, nodes int) {
	n.cluster.t.Helper()
	n.Await("cluster did not become "+status, "/_cluster/health", func(health map[string]any) bool {
		return health["status"] == status && health["number_of_nodes"] == float64(nodes) && health["relocating_shards"] == 0.0 &&
			health["initializing_shards"] == 0.0 && health["number_of_pending_tasks"] == 0.0
	})
}

// Await asks until the answer is as wanted.
func (n *Node) Await(why, path string, want func(answer map[string]any) bool) {
	t := n.cluster.t
	t.Helper()
	var last string
	for deadline := time.Now().Add(8 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		body, status, err := n.Try(http.MethodGet, path, "")
		answer := map[string]any{}
		if err == nil && status == http.StatusOK && json.Unmarshal(body, &answer) == nil && want(answer) {
			return
		}
		last = fmt.Sprintf("%d %s %v", status, body, err)
		if time.Now().After(deadline) || n.Ended() {
			require.FailNow(t, why, "%s\n%s", last, n.process.Tail())
		}
	}
}

// Ended reports whether the process has ended.
func (n *Node) Ended() bool {
	select {
	case <-n.process.Ended():
		return true
	default:
		return false
	}
}

// Stop ends the node with SIGTERM and waits.
func (n *Node) Stop() {
	n.process.Signal(syscall.SIGTERM)
	n.process.Wait(time.Minute)
}

// Kill ends the node with SIGKILL and waits.
func (n *Node) Kill() { n.process.Kill() }

// Pause stops the node from answering until the function is called.
func (n *Node) Pause() (resume func()) {
	n.process.Signal(syscall.SIGSTOP)
	return func() { n.process.Signal(syscall.SIGCONT) }
}

// Dir is where the node keeps its data.
func (n *Node) Dir() string { return filepath.Join(n.home, "data") }

// URL returns the URL of the node, without a path.
func (n *Node) URL() string {
	scheme := "http://"
	if s := n.cluster.options.Security; s != nil && !s.Plain {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(n.Host, strconv.Itoa(n.Port))
}

// Try makes a call, with a JSON body or none, and returns body and HTTP status.
func (n *Node) Try(method, path, body string) ([]byte, int, error) {
	req, err := http.NewRequest(method, n.URL()+path, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if n.cluster.options.Security != nil {
		req.SetBasicAuth(AdminUser, AdminPassword)
	}
	answer, err := n.cluster.client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	out, err := io.ReadAll(answer.Body)
	return out, answer.StatusCode, err
}

// Call makes a call and requires that it succeeds.
func (n *Node) Call(method, path, body string) []byte {
	t := n.cluster.t
	t.Helper()
	out, status, err := n.Try(method, path, body)
	require.NoError(t, err)
	require.Less(t, status, 300, "%s %s: %s", method, path, out)
	return out
}

// CreateIndex makes an index of empty shards and waits until all copies are there.
func (n *Node) CreateIndex(name string, shards, replicas int) {
	n.cluster.t.Helper()
	n.Call(http.MethodPut, "/"+name+"?wait_for_active_shards=all",
		fmt.Sprintf(`{"settings":{"number_of_shards":%d,"number_of_replicas":%d}}`, shards, replicas))
}
