package solrtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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
	// Versions are the versions of the nodes, one each, e.g. "9.10.1".
	Versions []string
	// Security is a security.json; empty means everybody may do everything.
	Security string
	// User and Password are used by Call.
	User, Password string
	// TLS means that nodes speak HTTPS with a certificate of the cluster's own CA.
	TLS bool
	// ClientCertificates makes every connection need a certificate of that CA, those of the nodes to
	// each other as well.
	ClientCertificates bool
	// Heap of each node, in MiB. 0 means 192, which is enough for five cores.
	Heap int
	// SessionTimeout is how long ZooKeeper keeps a dead node live. 0 means 20 s, for tests in which no
	// node dies: several clusters at once may be slow.
	SessionTimeout time.Duration
}

// Cluster is ZooKeeper and some Solr nodes.
type Cluster struct {
	// Nodes in the order of Options.Versions.
	Nodes []*Node
	// Authority signs the nodes' certificates, and CA is its own as PEM; nil and empty without TLS.
	Authority *authority.Authority
	CA        string

	t       testing.TB
	home    string
	dir     string
	options Options
	zk      *process.Process
	zkHost  string
	client  *http.Client
}

// Node is one Solr process.
type Node struct {
	// Name as registered in ZooKeeper.
	Name string
	Host string
	Port int
	// Version it runs, or will run when started.
	Version string

	cluster *Cluster
	home    string
	starts  int
	process *process.Process
}

// Start brings a cluster up and takes it down when the test ends.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	options.Heap = cmp.Or(options.Heap, 192)
	if options.SessionTimeout == 0 {
		options.SessionTimeout = 20 * time.Second
	}
	c := &Cluster{t: t, home: Home(t, options.Versions...), dir: t.TempDir(), options: options}
	transport := &http.Transport{DisableKeepAlives: true}
	c.client = &http.Client{Transport: transport, Timeout: 90 * time.Second}
	t.Cleanup(c.stop)
	if options.TLS {
		transport.TLSClientConfig = c.makeCertificates()
	}
	c.startZooKeeper()
	for i, version := range options.Versions {
		port := freeport.Take(t, 1)[0]
		n := &Node{
			Name: fmt.Sprintf("127.0.0.1:%d_solr", port), Host: "127.0.0.1", Port: port, Version: version,
			cluster: c, home: filepath.Join(c.dir, fmt.Sprintf("node-%d", i)),
		}
		c.Nodes = append(c.Nodes, n)
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
	c.zk.Kill()
	c.client.CloseIdleConnections()
}

func (c *Cluster) startZooKeeper() {
	port := freeport.Take(c.t, 1)[0]
	c.zkHost = fmt.Sprintf("127.0.0.1:%d", port)
	data := filepath.Join(c.dir, "zookeeper")
	require.NoError(c.t, os.MkdirAll(data, 0o755))
	config := filepath.Join(c.dir, "zoo.cfg")
	// Short ticks allow short sessions.
	text := fmt.Sprintf("tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\nminSessionTimeout=1000\nmaxSessionTimeout=60000\n", data, port)
	require.NoError(c.t, os.WriteFile(config, []byte(text), 0o644))
	c.zk = c.java("zookeeper", c.options.Versions[0], "-Xmx64m", "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
	require.Eventually(c.t, func() bool {
		conn, err := net.DialTimeout("tcp", c.zkHost, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, time.Minute, 100*time.Millisecond, "zookeeper did not start: %s", c.zk.Tail())
}

// Transport is how the tests' own client reaches the nodes.
func (c *Cluster) Transport() http.RoundTripper { return c.client.Transport }

// Shared is a folder that all nodes may write to.
func (c *Cluster) Shared() string { return c.dir }

// PauseZooKeeper stops it from answering until the function is called.
func (c *Cluster) PauseZooKeeper() (resume func()) {
	c.zk.Signal(syscall.SIGSTOP)
	return func() { c.zk.Signal(syscall.SIGCONT) }
}

// Start starts the node without waiting.
func (n *Node) Start() {
	c := n.cluster
	require.NoError(c.t, os.MkdirAll(filepath.Join(n.home, "tmp"), 0o755))
	xml, err := os.ReadFile(c.path("classes-" + n.Version + "/solr.xml"))
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(n.home, "solr.xml"), xml, 0o644))
	args := []string{
		fmt.Sprintf("-Xmx%dm", c.options.Heap), "-DzkHost=" + c.zkHost, "-Dhost=" + n.Host, fmt.Sprintf("-Djetty.port=%d", n.Port),
		"-Djava.io.tmpdir=" + filepath.Join(n.home, "tmp"), "-Dsolr.solr.home=" + n.home, "-Dsolr.log.dir=" + n.home,
		"-Dsolr.install.dir=" + c.home, "-Dsolr.default.confdir=" + c.path("conf"), "-Dsolr.configset.default.confdir=" + c.path("conf"),
		"-Drollcall.lucene=" + lucene(n.Version), "-Dsolr.allowPaths=" + c.dir, "-Dsolr.security.allow.paths=" + c.dir,
		fmt.Sprintf("-DzkClientTimeout=%d", c.options.SessionTimeout.Milliseconds()),
	}
	if c.options.Security != "" {
		file := filepath.Join(c.dir, "security.json")
		require.NoError(c.t, os.WriteFile(file, []byte(c.options.Security), 0o600))
		args = append(args, "-Dsolr.security.file="+file)
	}
	args = append(args, c.tlsProperties()...)
	n.starts++
	name := fmt.Sprintf("%s-start-%d", filepath.Base(n.home), n.starts)
	n.process = c.java(name, n.Version, append(args, "dev.rollcall.solr.SolrNode")...)
}

// AwaitUp waits until the node answers and is live.
func (n *Node) AwaitUp() {
	t := n.cluster.t
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		_, status, err := n.Try(http.MethodGet, "/solr/admin/info/health", nil)
		if err == nil && status == http.StatusOK {
			return
		}
		select {
		case <-n.process.Ended():
			require.FailNow(t, "node did not start", n.process.Tail())
		default:
			require.True(t, time.Now().Before(deadline), "node did not start: %v, status %d: %s", err, status, n.process.Tail())
		}
	}
}

// Stop ends the node with SIGTERM and waits.
func (n *Node) Stop() {
	n.process.Signal(syscall.SIGTERM)
	n.process.Wait(30 * time.Second)
}

// Kill ends the node with SIGKILL and waits.
func (n *Node) Kill() { n.process.Kill() }

// Pause stops the process from answering until the function is called.
func (n *Node) Pause() (resume func()) {
	n.process.Signal(syscall.SIGSTOP)
	return func() { n.process.Signal(syscall.SIGCONT) }
}

// Dir is where the node keeps its cores.
func (n *Node) Dir() string { return n.home }

// URL returns the URL of the node, without a path.
func (n *Node) URL() string {
	scheme := "http"
	if n.cluster.options.TLS {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s:%d", scheme, n.Host, n.Port)
}

// Try makes a call and returns body and HTTP status.
func (n *Node) Try(method, path string, params url.Values) ([]byte, int, error) {
	return n.try(context.Background(), method, path, params)
}

func (n *Node) try(ctx context.Context, method, path string, params url.Values) ([]byte, int, error) {
	target := n.URL() + path
	if params != nil {
		target += "?" + params.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return nil, 0, err
	}
	return n.Do(req)
}

// PostJSON posts a body.
func (n *Node) PostJSON(path string, body string) ([]byte, int, error) {
	req, err := http.NewRequest(http.MethodPost, n.URL()+path, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	return n.Do(req)
}

// Do sends a request, with the cluster's credentials if it has any.
func (n *Node) Do(req *http.Request) ([]byte, int, error) {
	if user := n.cluster.options.User; user != "" {
		req.SetBasicAuth(user, n.cluster.options.Password)
	}
	answer, err := n.cluster.client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	out, err := io.ReadAll(answer.Body)
	return out, answer.StatusCode, err
}

// Collections calls the collections API with pairs of parameters and requires
// success.
func (n *Node) Collections(action string, pairs ...string) []byte {
	t := n.cluster.t
	t.Helper()
	params := url.Values{"action": {action}, "wt": {"json"}}
	for i := 0; i+1 < len(pairs); i += 2 {
		params.Set(pairs[i], pairs[i+1])
	}
	body, status, err := n.Try(http.MethodGet, "/solr/admin/collections", params)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s: %s", action, body)
	return body
}

// State is the collections tree of CLUSTERSTATUS: collection, shard, replica,
// attribute. It is decoded apart from the adapter, to check it.
func (n *Node) State() map[string]map[string]map[string]map[string]any {
	t := n.cluster.t
	var answer struct {
		Cluster struct {
			Collections map[string]struct {
				Shards map[string]struct {
					Replicas map[string]map[string]any `json:"replicas"`
				} `json:"shards"`
			} `json:"collections"`
		} `json:"cluster"`
	}
	require.NoError(t, json.Unmarshal(n.Collections("CLUSTERSTATUS"), &answer))
	out := map[string]map[string]map[string]map[string]any{}
	for c, v := range answer.Cluster.Collections {
		out[c] = map[string]map[string]map[string]any{}
		for s, w := range v.Shards {
			out[c][s] = w.Replicas
		}
	}
	return out
}
