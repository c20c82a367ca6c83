package siege

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// tags are those with which the images of the agent are built.
const tags = "grpcnotrace,nethttpomithttp2"

// ring is two agents of one database: the one that is attacked, in a control
// group with the limit that injection gives it, and its neighbour.
type ring struct {
	t         *testing.T
	program   string
	limit     int64
	env       []string
	authority *agenttest.Authority
	port      string // of the gossip
	label     []byte // that precedes everything in the gossip, in the clear

	attacked, neighbour *agentProcess
	database            *database // of the attacked one
}

// agentProcess is one of them.
type agentProcess struct {
	*process
	address string // of gRPC
	http    string
	client  rollcallv1.AgentServiceClient
}

// sidecar returns the memory limit that injection gives to agents, and GOMEMLIMIT.
func sidecar(t *testing.T) (int64, []string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "db-0", Labels: map[string]string{v1alpha1.LabelCluster: "db"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "database"}}},
	}
	injected, _, err := inject.Pod(pod, inject.Options{Image: "agent"})
	require.NoError(t, err)
	require.Len(t, injected.Spec.InitContainers, 1)
	container := injected.Spec.InitContainers[0]
	require.Empty(t, container.Args, "the agent is given flags that are not given here")
	var env []string
	for _, e := range container.Env {
		if strings.HasPrefix(e.Name, "GO") {
			env = append(env, e.Name+"="+e.Value)
		}
	}
	require.NotEmpty(t, env)
	return container.Resources.Limits.Memory().Value(), env
}

// newRing starts both, and waits until they see each other and their databases.
func newRing(t *testing.T, program, engine string) *ring {
	t.Helper()
	r := &ring{t: t, program: program, authority: agenttest.NewAuthority(t)}
	r.limit, r.env = sidecar(t)
	_, r.port, _ = net.SplitHostPort(freeAddress(t))
	// The neighbour's place first, to hear what an agent says to whoever listens there.
	ear, err := net.Listen("tcp", "127.0.0.1:"+r.port)
	require.NoError(t, err)
	r.database = newDatabase(t)
	r.database.solr = engine == "Solr"
	r.attacked = r.start("127.0.0.2", 0, r.limit, engine, r.database)
	r.label = overhear(t, ear)
	require.NoError(t, ear.Close())
	r.neighbour = r.start("127.0.0.1", 1, 1<<30, "Solr", newDatabase(t))
	require.Eventually(t, func() bool {
		return r.attacked.alive() && r.sees(t.Context()) && (engine != "Solr" || r.live(t.Context()))
	}, time.Minute, 200*time.Millisecond, "the agents do not see each other: %s", r.attacked.log)
	return r
}

// overhear returns what a stream of the gossip begins with: 244, a length, and as much.
func overhear(t *testing.T, ear net.Listener) []byte {
	t.Helper()
	require.NoError(t, ear.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)))
	conn, err := ear.Accept()
	require.NoError(t, err)
	defer conn.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(conn, head)
	require.NoError(t, err)
	require.EqualValues(t, 244, head[0], "gossip begins with no label")
	label := make([]byte, head[1])
	_, err = io.ReadFull(conn, label)
	require.NoError(t, err)
	return append(head, label...)
}

func (r *ring) start(ip string, ordinal int, limit int64, engine string, db *database) *agentProcess {
	t := r.t
	t.Helper()
	at, err := url.Parse(db.server.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(at.Port())
	require.NoError(t, err)
	dir := t.TempDir()
	r.authority.Mount(dir, "prod", "search", config.File{
		ClusterUID: "cluster-uid", Service: "localhost", Engine: engine,
		Connection: config.Connection{Host: "127.0.0.1", Port: port},
	}, gossipKey)
	_, grpcPort, _ := net.SplitHostPort(freeAddress(t))
	_, httpPort, _ := net.SplitHostPort(freeAddress(t))
	a := &agentProcess{address: net.JoinHostPort(ip, grpcPort), http: net.JoinHostPort(ip, httpPort)}
	a.process = startLimited(t, limit, append([]string{
		config.EnvNamespace + "=prod", config.EnvCluster + "=search", fmt.Sprintf("%s=search-%d", config.EnvPod, ordinal),
		fmt.Sprintf("%s=uid-%d", config.EnvPodUID, ordinal), config.EnvPodIP + "=" + ip,
		config.EnvStopToken + "=token", config.EnvGraceSeconds + "=30",
	}, r.env...), r.program, "-config-dir", dir, "-state-dir", t.TempDir(), "-gossip-port", r.port,
		"-grpc-addr", a.address, "-http-addr", a.http)
	conn, err := grpc.NewClient(a.address, grpc.WithTransportCredentials(
		credentials.NewTLS(r.authority.Client(config.ServerName("prod", "search"), config.RoleCoordinator))))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	a.client = rollcallv1.NewAgentServiceClient(conn)
	return a
}

// live reports whether the attacked agent says that its database is a live member.
func (r *ring) live(ctx context.Context) bool {
	report, err := r.attacked.client.GetReport(ctx, &rollcallv1.GetReportRequest{})
	return err == nil && report.GetMember() == rollcallv1.Membership_MEMBERSHIP_LIVE
}

// sees reports whether the neighbour says that two agents are alive.
func (r *ring) sees(ctx context.Context) bool {
	roster, err := r.neighbour.client.GetRoster(ctx, &rollcallv1.GetRosterRequest{})
	alive := 0
	for _, e := range roster.GetEntries() {
		if e.GetLiveness() == rollcallv1.Liveness_LIVENESS_ALIVE {
			alive++
		}
	}
	return err == nil && alive == 2
}

// judged attacks the agent, and says what became of it.
func (r *ring) judged(t *testing.T, a agentAttack, attack func(ctx context.Context)) {
	t.Helper()
	metrics := scrape(r.attacked.http, `namespace="prod",pod="search-0",database="prod/search"`)
	time.Sleep(2 * scrapeEvery)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := make(chan struct{})
	var peak int64
	answered, unanswered, away := 0, 0, 0
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			peak = max(peak, r.attacked.group.used())
			try, done := context.WithTimeout(ctx, 5*time.Second) // what a coordinator waits
			if _, err := r.attacked.client.GetReport(try, &rollcallv1.GetReportRequest{}); err == nil {
				answered++
			} else if ctx.Err() == nil {
				unanswered++
			}
			if !r.sees(try) && ctx.Err() == nil {
				away++
			}
			done()
			select {
			case <-ctx.Done():
			case <-time.After(250 * time.Millisecond):
			}
		}
	}()
	attack(ctx)
	after := r.attacked.alive() && r.eventually(t, r.sees)
	r.database.answer.Store(nil)
	if r.database.solr {
		after = after && r.eventually(t, r.live)
	}
	cancel()
	<-stopped
	metrics.judged(t, a.alert, a.faster)
	peak = max(peak, r.attacked.group.peak())
	percent := int(100 * peak / r.limit)
	t.Logf("FIGURES of %q: lives: %v (killed for memory: %d); peak %s of %s = %d %%; reports meanwhile: %d answered, %d not; not seen by its neighbour: %d times; works after it: %v; log: %d lines",
		t.Name(), r.attacked.alive(), r.attacked.group.kills(), mebibytes(peak), mebibytes(r.limit), percent, answered, unanswered, away, after, r.attacked.log.lines)
	if !r.attacked.alive() {
		t.Errorf("the agent ended: %v", r.attacked.how)
	}
	if percent > most {
		t.Errorf("its memory was at %d %% of the limit, and %d %% are allowed", percent, most)
	}
	if unanswered > 0 || away > 0 {
		t.Errorf("%d reports were not answered, and %d times its neighbour did not see it", unanswered, away)
	}
	if !after {
		t.Errorf("it does not work after the attack")
	}
}

func (r *ring) eventually(t *testing.T, holds func(context.Context) bool) bool {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && r.attacked.alive(); time.Sleep(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		ok := holds(ctx)
		cancel()
		if ok {
			return true
		}
	}
	return false
}

// agentAttack is what is done to an agent.
type agentAttack struct {
	name   string
	engine string
	do     func(context.Context, *ring)
	alert  string
	faster int
	short  bool
}

// TestSiegeOfAgent checks that neither strangers at the gossip's port nor a database that answers
// whatever it likes take an agent away, and Prometheus raises the alert that says so.
func TestSiegeOfAgent(t *testing.T) {
	if os.Getenv(envPrograms) == "" { // as for the coordinator, so that nobody attacks by accident
		unless(t, envPrograms+" is not set")
	}
	unless(t, noGroups())
	files(t)
	program := build(t, t.TempDir(), "rollcall-agent", "-tags", tags)
	const gossip = "RollcallGossipRejected"
	try := func(t *testing.T, a agentAttack) {
		r := newRing(t, program, a.engine)
		r.judged(t, a, func(ctx context.Context) { a.do(ctx, r) })
	}
	for _, a := range []agentAttack{
		{"none", "Solr", func(context.Context, *ring) { time.Sleep(5 * time.Second) }, "", faster(), false},
		{"three streams of 20 MiB", "Solr", gossipStreams(3, 20<<20-1, true), gossip, faster(), true},
		{"three streams of 20 MiB of another cluster", "Solr", gossipStreams(3, 20<<20-1, false), gossip, faster(), false},
		{"300 streams of 1 MiB that end in the middle", "Solr", gossipStreams(300, 1<<20, true), gossip, faster(), false},
		{"2000 silent streams", "Solr", gossipStreams(2000, 0, true), gossip, faster(), false},
		{"three streams with the key", "Solr", keyedStreams, gossip, faster(), true},
	} {
		if whole || a.short {
			t.Run(a.name, func(t *testing.T) { try(t, a) })
		}
	}
	for _, engine := range []string{"Solr", "OpenSearch"} {
		for _, answer := range answers {
			// An alert waits for 10 minutes without, and 20 with nothing else: a slow answer
			// takes ten seconds until it is no answer.
			length, faster := 20*time.Second, 120
			if answer.slow {
				length, faster = 52*time.Second, 40
			}
			a := agentAttack{engine + " answers " + answer.name, engine, func(ctx context.Context, r *ring) {
				r.database.answer.Store(&answer.write)
				pause(ctx, length)
			}, "RollcallDatabaseUnreachable", faster, answer.short == engine}
			if whole || a.short {
				t.Run(a.name, func(t *testing.T) {
					t.Parallel() // these wait most of the time
					try(t, a)
				})
			}
		}
	}
}
