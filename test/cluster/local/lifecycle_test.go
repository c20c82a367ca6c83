package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/cluster/host"
	"github.com/rollcall-dev/rollcall/test/cluster/node"
)

// TestLifecycle brings a real cluster up, breaks it, mends it and takes it away. It needs root and the packages of
// host.ClusterTools, so it runs only when asked to.
func TestLifecycle(t *testing.T) {
	if os.Getenv("ROLLCALL_CLUSTER_TEST") == "" {
		t.Skip("set ROLLCALL_CLUSTER_TEST=1 to run a real cluster; needs root")
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("/tmp", "rc") // short: sockets lie below
	require.NoError(t, err)
	o := Options{Dir: dir, Cache: filepath.Join(cache, "rollcall", "programs"), Nodes: 2, Name: "lifecycle", Say: t.Logf}
	with := func(do func(ctx context.Context, c *Cluster)) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
		defer cancel()
		c, err := Create(ctx, o)
		require.NoError(t, err)
		defer c.Close()
		do(ctx, c)
	}
	up := func(ctx context.Context, c *Cluster) { require.NoError(t, c.Up(ctx)) }
	pids := func() (out map[string]int) {
		with(func(_ context.Context, c *Cluster) {
			out = map[string]int{}
			for _, name := range c.runner.Table.Names() {
				if pid, ok := c.runner.Table.Alive(name); ok {
					out[name] = pid
				}
			}
		})
		return out
	}
	t.Cleanup(func() {
		c, err := Open(context.Background(), o)
		if errors.Is(err, ErrNone) {
			return
		}
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.Down(context.Background(), true))
	})

	with(up)
	first := pids()
	require.Len(t, first, 5+2*3)

	with(up)
	require.Equal(t, first, pids(), "a second up changes nothing")

	with(func(ctx context.Context, c *Cluster) { runPod(ctx, t, c) })

	// A crash: everything but the containers is gone, and of one node the network too.
	for _, pid := range first {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	require.Eventually(t, func() bool { return len(pids()) == 0 }, 30*time.Second, 10*time.Millisecond)
	with(func(ctx context.Context, c *Cluster) {
		_, err := host.Run(ctx, "ip", "netns", "delete", c.Plan.Nodes[0].Netns)
		require.NoError(t, err)
		up(ctx, c)
		waitForPod(ctx, t, c)
	})

	with(func(ctx context.Context, c *Cluster) {
		require.NoError(t, c.StopNode(ctx, "node1"))
		for _, name := range c.runner.Table.Names() {
			require.False(t, strings.HasPrefix(name, "node1/"), name)
		}
		require.NoError(t, c.StartNode(ctx, "node1"))
	})

	for _, purge := range []bool{false, true} {
		with(func(ctx context.Context, c *Cluster) {
			up(ctx, c)
			waitForPod(ctx, t, c)
			require.NoError(t, c.Down(ctx, purge))
			requireNothingLeft(ctx, t, c)
		})
	}
	require.NoDirExists(t, dir)
}

// runPod makes a pod that runs on node1 and does nothing.
func runPod(ctx context.Context, t *testing.T, c *Cluster) {
	client, err := Client(c.Plan.Kubeconfig())
	require.NoError(t, err)
	grace := int64(1)
	require.NoError(t, poll(ctx, "service account", func(ctx context.Context) error { // it comes a moment after its namespace
		_, err := client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "idle"},
			Spec: corev1.PodSpec{
				NodeName:                      "node1",
				TerminationGracePeriodSeconds: &grace,
				Containers:                    []corev1.Container{{Name: "idle", Image: node.PauseImage}},
			},
		}, metav1.CreateOptions{})
		return err
	}))
	waitForPod(ctx, t, c)
}

func waitForPod(ctx context.Context, t *testing.T, c *Cluster) {
	client, err := Client(c.Plan.Kubeconfig())
	require.NoError(t, err)
	require.NoError(t, poll(ctx, "pod", func(ctx context.Context) error {
		p, err := client.CoreV1().Pods("default").Get(ctx, "idle", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, s := range p.Status.ContainerStatuses {
			if s.Ready && s.State.Running != nil && p.Status.PodIP != "" {
				return nil
			}
		}
		return fmt.Errorf("pod is %s", p.Status.Phase)
	}))
}

func requireNothingLeft(ctx context.Context, t *testing.T, c *Cluster) {
	mounts, err := node.MountsBelow(c.Dir)
	require.NoError(t, err)
	require.Empty(t, mounts)
	for _, list := range []string{"ip -o link", "ip netns", "ip route"} {
		out, err := host.Run(ctx, strings.Fields(list)...)
		require.NoError(t, err)
		require.NotContains(t, out, c.Plan.Bridge(), list)
		require.NotContains(t, out, c.Plan.NodeNet().String(), list)
	}
	for _, tree := range c.runner.Groups {
		groups, err := filepath.Glob(filepath.Join(tree.Path, c.Plan.Bridge()+"-*"))
		require.NoError(t, err)
		require.Empty(t, groups)
	}
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, e := range environments {
		b, _ := os.ReadFile(e)
		require.NotContains(t, string(b), c.Dir+"/processes.json", e)
	}
}
