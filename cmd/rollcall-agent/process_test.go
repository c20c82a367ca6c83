package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/locked"
)

const (
	nodeName = "search-0.search.prod.svc:8983_solr"
	gossipAt = 27946
	shards   = 250
)

// ringSize is 50 for measurements. All members but one run in the test's own process, which is slow
// on a busy machine.
var ringSize = 8

var gossipKey = bytes.Repeat([]byte{5}, 32)

// TestProcess runs the program as an image does, against a Solr of 50 nodes and
// 1,000 replicas and in a ring of agents, and prints what it costs.
func TestProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	settle, span := 2*time.Second, 5*time.Second
	if os.Getenv("ROLLCALL_BENCH") != "" {
		ringSize, settle, span = 50, 20*time.Second, time.Minute
	}
	binary := filepath.Join(t.TempDir(), "rollcall-agent")
	build := exec.Command("go", "build", "-tags", tags, noInlining, "-trimpath", "-ldflags", "-s -w -X main.version=1.2.3 "+alignment, "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	info, err := os.Stat(binary)
	require.NoError(t, err)
	// The bar is 16 MiB; nearly all pages of the file are in the memory of the process.
	require.Less(t, info.Size(), int64(14.8125*(1<<20)), "stripped")
	printed, err := exec.Command(binary, "-version").Output()
	require.NoError(t, err)
	require.Equal(t, "1.2.3\n", string(printed))

	solr := fakeSolr(t, nodeName, 50, shards)
	at, err := url.Parse(solr.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(at.Port())
	require.NoError(t, err)
	authority, dir := agenttest.NewAuthority(t), t.TempDir()
	authority.Mount(dir, "prod", "search", config.File{
		ClusterUID: "cluster-uid", Service: "localhost", Engine: "Solr",
		Connection: config.Connection{Host: "127.0.0.1", Port: port},
	}, gossipKey)

	// localhost is the Service, so the process finds the member at 127.0.0.1.
	startRing(t)
	process := exec.Command(binary, "-config-dir", dir, "-state-dir", t.TempDir(), "-grpc-addr", "127.0.0.2:0", "-http-addr", "127.0.0.2:27948",
		"-gossip-port", strconv.Itoa(gossipAt))
	process.Env = []string{
		config.EnvNamespace + "=prod", config.EnvCluster + "=search", config.EnvPod + "=search-0", config.EnvPodUID + "=uid-0",
		config.EnvPodIP + "=127.0.0.2", config.EnvStopToken + "=token", config.EnvGraceSeconds + "=30",
	}
	log := &locked.Buffer{}
	process.Stderr = log
	require.NoError(t, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill() })

	var address string
	eventually(t, log, "it listens", func() bool {
		_, after, found := strings.Cut(log.String(), `"msg":"agent runs"`)
		if !found {
			return false
		}
		_, after, _ = strings.Cut(after, `"grpc":"`)
		address, _, _ = strings.Cut(after, `"`)
		return address != ""
	})
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(
		credentials.NewTLS(authority.Client(config.ServerName("prod", "search"), config.RoleReader))))
	require.NoError(t, err)
	defer connection.Close()
	agent := rollcallv1.NewAgentServiceClient(connection)
	eventually(t, log, "it sees its database and the whole ring", func() bool {
		report, err := agent.GetReport(t.Context(), &rollcallv1.GetReportRequest{Fresh: true, AllGroups: true})
		if err != nil || report.Member != rollcallv1.Membership_MEMBERSHIP_LIVE || len(report.Groups) != shards {
			return false
		}
		roster, err := agent.GetRoster(t.Context(), &rollcallv1.GetRosterRequest{})
		alive := 0
		for _, e := range roster.GetEntries() {
			if e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE {
				alive++
			}
		}
		return err == nil && alive == ringSize
	})

	// A coordinator watches, as it does while there is work.
	watch, err := agent.WatchReport(t.Context(), &rollcallv1.WatchReportRequest{AllGroups: true})
	require.NoError(t, err)
	go func() {
		for {
			if _, err := watch.Recv(); err != nil {
				return
			}
		}
	}()
	time.Sleep(settle)
	before := cpu(t, process.Process.Pid)
	time.Sleep(span)
	used := cpu(t, process.Process.Pid) - before
	resident := memory(t, process.Process.Pid, "VmRSS")
	t.Logf("agent: %.1f MiB stripped; %.1f MiB resident (peak %.1f, of which %.1f not of files) in a ring of %d with %d replicas; %.2f %% of a core at one look a second",
		mib(info.Size()), mib(resident), mib(memory(t, process.Process.Pid, "VmHWM")), mib(memory(t, process.Process.Pid, "RssAnon")),
		ringSize, 4*shards, 100*used.Seconds()/span.Seconds())
	if os.Getenv("ROLLCALL_BENCH") != "" {
		require.LessOrEqual(t, mib(resident), 20.0)
		require.LessOrEqual(t, 100*used.Seconds()/span.Seconds(), 0.5)
	}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.2:27948"+config.StopPath, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	_ = response.Body.Close()
	require.Equal(t, http.StatusForbidden, response.StatusCode)

	require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	require.NoError(t, process.Wait(), log.String())
	require.Contains(t, log.String(), `"msg":"agent ended"`)
	require.NotContains(t, log.String(), `"level":"ERROR"`)
}

// startRing runs the other members' gossip in this process.
func startRing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	first := netip.MustParseAddrPort(fmt.Sprintf("127.0.0.1:%d", gossipAt))
	for i := 1; i < ringSize; i++ {
		at := first
		if i > 1 {
			at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 78, 0, byte(i)}), gossipAt)
		}
		h := &rollcallv1.Headline{
			Pod: fmt.Sprintf("search-%d", i), PodUid: fmt.Sprintf("3f1c9e0a-52a4-4f0e-9d59-6f3a4c1f9%03d", i),
			Member: rollcallv1.Membership_MEMBERSHIP_LIVE, Address: net.JoinHostPort(at.Addr().String(), "7947"),
			Node: fmt.Sprintf("search-%d.search.prod.svc:8983_solr", i), Zone: "zone-1", Digest: 1 << 60, Alive: uint32(ringSize),
		}
		mesh, err := gossip.New(gossip.Options{
			Namespace: "prod", Cluster: "search", ClusterUID: "cluster-uid", Pod: h.Pod, PodUID: h.PodUid,
			Address: at, Keys: [][]byte{gossipKey},
			Peers: func(context.Context) ([]netip.AddrPort, error) { return []netip.AddrPort{first}, nil },
		})
		require.NoError(t, err)
		require.NoError(t, mesh.Publish(h))
		tasks.Go(func() {
			if err := mesh.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { cancel(); tasks.Wait() })
}

func eventually(t *testing.T, log *locked.Buffer, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "never: "+what, log.String())
		}
	}
}

// memory returns a figure of the kernel in bytes.
func memory(t *testing.T, pid int, name string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(status), name+":")
	fields := strings.Fields(after)
	require.NotEmpty(t, fields)
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// cpu returns the CPU time that the process has used, in clock ticks of 10 ms.
func cpu(t *testing.T, pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	require.NoError(t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
