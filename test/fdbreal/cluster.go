package fdbreal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
	"github.com/rollcall-dev/rollcall/engines/enginetest/process"
)

// The cluster: of each class one process in each zone.
var (
	classes = []string{"storage", "log", "stateless"}
	zones   = []string{"zone-a", "zone-b", "zone-c"}
)

// Cluster is a FoundationDB of nine processes over loopback, in three zones, which keeps data twice. It ends with the test.
type Cluster struct {
	t    testing.TB
	home string
	// Pods in their order: fdb-0 to fdb-2 are storage, fdb-3 to fdb-5 logs and coordinators, fdb-6 to fdb-8 stateless.
	Pods []*Pod
	// Admin is a person's fdbcli.
	Admin *client

	mu sync.Mutex
	// on is the pod that each storage server was seen on, by the server's id; gone are those whose folder was wiped.
	on   map[string]*Pod
	gone map[string]bool
}

// Pod is one process with its folder.
type Pod struct {
	Name, Zone, Class string
	// Address is how its process listens, Seat how a cluster file names it.
	Address, Seat string

	dir, state string
	process    *process.Process
	// up is false from the moment at which the test took the process, paused and killed included.
	up, paused bool
	// since is when up changed.
	since time.Time
}

// Options of a cluster.
type Options struct {
	// Hosts names coordinators by host names, which the test adds to /etc/hosts.
	Hosts bool
	// Data is how many values of 90 kB are written before the test begins.
	Data int
}

const description = "real"

// Start returns a cluster at rest.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	c := &Cluster{t: t, home: home(t), on: map[string]*Pod{}, gone: map[string]bool{}}
	ports := freeport.Take(t, len(classes)*len(zones))
	var seats []string
	for i, class := range classes {
		for j, zone := range zones {
			n := i*len(zones) + j
			p := &Pod{Name: fmt.Sprintf("fdb-%d", n), Zone: zone, Class: class, Address: fmt.Sprintf("127.0.0.1:%d", ports[n]), dir: t.TempDir()}
			p.Seat = p.Address
			if o.Hosts {
				p.Seat = fmt.Sprintf("%s:%d", hostOf(p.Name), ports[n])
			}
			if class == "log" {
				seats = append(seats, p.Seat)
			}
			c.Pods = append(c.Pods, p)
		}
	}
	if o.Hosts {
		nameHosts(t, c.Pods)
	}
	connection := fmt.Sprintf("%s:%s@%s", description, description, strings.Join(seats, ","))
	c.Admin = newClient(t, c.CLI(), connection)
	for _, p := range c.Pods {
		require.NoError(t, os.WriteFile(p.clusterFile(), []byte(connection+"\n"), 0o600))
		bear(t, c, p)
		c.Run(p)
	}
	t.Cleanup(func() {
		for _, p := range c.Pods {
			p.process.Kill()
		}
	})
	require.Eventually(t, func() bool {
		a := c.Admin.run(t.Context(), 20*time.Second, "configure new double ssd")
		return strings.Contains(a.stdout, "Database created") || strings.Contains(a.stdout+a.stderr, "already exists")
	}, 2*time.Minute, time.Second, "configure new double ssd")
	c.AwaitWhole(3 * time.Minute)
	c.fill(o.Data)
	return c
}

func hostOf(pod string) string { return pod + ".fdb.rollcall.test" }

// CLI is the path of fdbcli.
func (c *Cluster) CLI() string { return filepath.Join(c.home, "fdbcli") }

// Pod by its name.
func (c *Cluster) Pod(name string) *Pod {
	i := slices.IndexFunc(c.Pods, func(p *Pod) bool { return p.Name == name })
	require.GreaterOrEqual(c.t, i, 0, name)
	return c.Pods[i]
}

// InZone are the pods of a zone.
func (c *Cluster) InZone(zone string) (pods []*Pod) {
	for _, p := range c.Pods {
		if p.Zone == zone {
			pods = append(pods, p)
		}
	}
	return pods
}

func (p *Pod) clusterFile() string { return filepath.Join(p.dir, "fdb.cluster") }

func (p *Pod) data() string { return filepath.Join(p.dir, "data") }

// Run starts a pod's process.
func (c *Cluster) Run(p *Pod) {
	logs := filepath.Join(p.dir, "log")
	for _, dir := range []string{p.data(), logs} {
		require.NoError(c.t, os.MkdirAll(dir, 0o755))
	}
	cmd := exec.Command(filepath.Join(c.home, "fdbserver"),
		"--class", p.Class, "--datadir", p.data(), "--logdir", logs, "--cluster_file", p.clusterFile(),
		"--public_address", p.Address, "--listen_address", "public", "--memory", "4GiB", "--cache_memory", "128MiB",
		"--locality_instance_id="+p.Name, "--locality_zoneid="+p.Zone, "--locality_machineid="+p.Name, "--locality_dns_name="+hostOf(p.Name))
	started := process.Start(c.t, filepath.Join(p.dir, "output"), cmd)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.process, p.up, p.since = started, true, time.Now()
}

// Rewrite gives a pod the cluster file that is right now, as the init container of a new one does.
func (c *Cluster) Rewrite(p *Pod) {
	require.NoError(c.t, os.WriteFile(p.clusterFile(), []byte(c.connection()+"\n"), 0o600))
}

// Kill ends the processes of pods at once, all in the same moment.
func (c *Cluster) Kill(pods ...*Pod) {
	c.take(pods)
	for _, p := range pods {
		p.process.Signal(syscall.SIGKILL)
	}
	for _, p := range pods {
		<-p.process.Ended()
	}
	c.t.Logf("%s killed %s", clock(), names(pods))
}

func (c *Cluster) take(pods []*Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range pods {
		p.up, p.since = false, time.Now()
	}
}

// Pause stops a process without ending it, until the function that it returns is called.
func (c *Cluster) Pause(p *Pod) (resume func()) {
	c.take([]*Pod{p})
	p.paused = true
	p.process.Signal(syscall.SIGSTOP)
	c.t.Logf("%s paused %s", clock(), p.Name)
	return func() {
		p.process.Signal(syscall.SIGCONT)
		c.mu.Lock()
		defer c.mu.Unlock()
		p.up, p.paused, p.since = true, false, time.Now()
		c.t.Logf("%s resumed %s", clock(), p.Name)
	}
}

// Wipe removes the data of a pod whose process does not run, as a new volume does.
func (c *Cluster) Wipe(p *Pod) {
	require.False(c.t, p.up, p.Name)
	require.NoError(c.t, os.RemoveAll(p.data()))
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, on := range c.on {
		if on == p {
			c.gone[id] = true
		}
	}
}

// Away are the pods without a running process, as the test has left them.
func (c *Cluster) Away() (away []*Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.Pods {
		if !p.up {
			away = append(away, p)
		}
	}
	return away
}

// AwaitWhole waits until the database is at rest with all processes that run.
func (c *Cluster) AwaitWhole(limit time.Duration) {
	c.t.Helper()
	var last error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Second) {
		s, err := c.Admin.status(c.t.Context(), 20*time.Second)
		if err == nil {
			c.learn(s)
			if err = s.whole(len(c.Pods) - len(c.Away())); err == nil {
				return
			}
		}
		last = err
	}
	c.t.Fatalf("the database is not at rest after %s: %v", limit, last)
}

// learn notes which storage servers are where.
func (c *Cluster) learn(s status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, listed := range s.Cluster.Processes {
		i := slices.IndexFunc(c.Pods, func(p *Pod) bool { return p.Name == listed.Locality["instance_id"] })
		if i < 0 {
			continue
		}
		for _, r := range listed.Roles {
			if r.Role == "storage" {
				c.on[r.ID] = c.Pods[i]
			}
		}
	}
}

// Copies of the shard that has the fewest of them on processes that run, with the zones that have one of those. fresh is
// false where a server is not known yet.
type Copies struct {
	Least  int
	Zones  []string
	Shards int
}

// Copies counts what there truly is.
func (c *Cluster) Copies(ctx context.Context) (Copies, error) {
	shards, err := c.Admin.shards(ctx, 15*time.Second)
	if err != nil {
		return Copies{}, err
	}
	if c.strangers(shards) {
		if s, err := c.Admin.status(ctx, 15*time.Second); err == nil {
			c.learn(s)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	worst := Copies{Least: len(zones) + 1, Shards: len(shards)}
	for _, s := range shards {
		var in []string
		for _, id := range s.Src {
			if p := c.on[id]; p != nil && p.up && !c.gone[id] && !slices.Contains(in, p.Zone) {
				in = append(in, p.Zone)
			}
		}
		if len(in) < worst.Least {
			worst.Least, worst.Zones = len(in), in
		}
	}
	return worst, nil
}

// Holder is the storage pod with the most shards: small data are one shard, of which not each storage pod has a copy.
func (c *Cluster) Holder() *Pod {
	c.t.Helper()
	shards, err := c.Admin.shards(c.t.Context(), 20*time.Second)
	require.NoError(c.t, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	count := map[*Pod]int{}
	for _, s := range shards {
		for _, id := range s.Src {
			count[c.on[id]]++
		}
	}
	most := c.Pods[0]
	for _, p := range c.Pods {
		if count[p] > count[most] {
			most = p
		}
	}
	require.NotZero(c.t, count[most], "the test itself: no shard is on a known server")
	return most
}

// strangers tells whether a shard is on a server that was never seen.
func (c *Cluster) strangers(shards []shard) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(shards, func(s shard) bool {
		return slices.ContainsFunc(s.Src, func(id string) bool { return c.on[id] == nil })
	})
}

// fill writes so many values of 90 kB.
func (c *Cluster) fill(count int) {
	if count == 0 {
		return
	}
	var in strings.Builder
	in.WriteString("writemode on\n")
	value := strings.Repeat("v", 90_000)
	for i := range count {
		fmt.Fprintf(&in, "set fill%06d %s\n", i, value)
	}
	cmd := exec.CommandContext(c.t.Context(), c.CLI(), "-C", c.Admin.file)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	require.NoError(c.t, err)
	require.Equal(c.t, count, strings.Count(string(out), "Committed ("), "%.2000s", out)
	c.AwaitWhole(3 * time.Minute)
}

func names(pods []*Pod) string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}

func clock() string { return time.Now().Format("15:04:05.0") }

// connection is what cluster files say now, as fdbcli has left the admin's.
func (c *Cluster) connection() string {
	text, err := os.ReadFile(c.Admin.file)
	require.NoError(c.t, err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	c.t.Fatalf("%s: must have a line that is no comment", c.Admin.file)
	return ""
}
