package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/test/cluster/cgroup"
	"github.com/rollcall-dev/rollcall/test/cluster/host"
	"github.com/rollcall-dev/rollcall/test/cluster/network"
	"github.com/rollcall-dev/rollcall/test/cluster/pki"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
	"github.com/rollcall-dev/rollcall/test/cluster/process"
)

// Runner starts and stops nodes.
type Runner struct {
	Plan      plan.Plan
	Programs  map[string]string
	Authority *pki.Authority
	Table     *process.Table
	Groups    []cgroup.Tree
	// Pause is an archive with the image that every pod needs.
	Pause string
}

// Up brings the node up, or repairs what of it is missing. It reports whether it had to do anything.
func (r Runner) Up(ctx context.Context, n plan.Node) (changed bool, err error) {
	if err := r.configure(n); err != nil {
		return false, err
	}
	specs := Specs(r.Plan, n, r.Programs)
	if _, alive := r.Table.Alive(specs[0].Name); !alive {
		// Without its runtime nothing of the node can be relied on, so it starts as after a power cut.
		if err := r.Kill(ctx, n); err != nil {
			return false, err
		}
	}
	if err := network.Node(ctx, r.Plan, n); err != nil {
		return false, err
	}
	if err := cgroup.Make(r.Groups, n.Cgroup); err != nil {
		return false, err
	}
	for _, s := range specs {
		started, err := r.Table.Ensure(ctx, s)
		if err != nil {
			return changed, err
		}
		changed = changed || started
		if s.Name == n.Name+"/containerd" {
			if err := r.waitForRuntime(ctx, n); err != nil {
				return changed, err
			}
			if _, err := r.Load(ctx, n, r.Pause); err != nil {
				return changed, err
			}
		}
	}
	return changed, nil
}

func (r Runner) configure(n plan.Node) error {
	if err := r.Authority.Ensure(Certificates(n)); err != nil {
		return err
	}
	kubeconfig, err := r.Authority.Kubeconfig("rollcall-"+r.Plan.Name, r.Plan.Server(), Certificates(n).Name)
	if err != nil {
		return err
	}
	snapshotter, err := snapshotterFor(r.Plan.Dir)
	if err != nil {
		return err
	}
	files := []struct {
		name    string
		content []byte
	}{
		{"containerd.toml", Containerd(n, filepath.Dir(r.Programs["ptp"]), snapshotter)},
		{"cni/10-pods.conflist", Network(n)},
		{"kubelet.yaml", Kubelet(r.Plan, n, r.Authority)},
		{"proxy.yaml", Proxy(r.Plan, n)},
		{"kubeconfig", kubeconfig},
	}
	for _, f := range files {
		if err := host.WriteFile(n.Path(f.name), f.content, 0o600); err != nil {
			return err
		}
	}
	return os.MkdirAll(n.Path("run"), 0o755)
}

// snapshotterFor picks overlayfs, except on top of another overlayfs, which the kernel refuses.
func snapshotterFor(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("file system of %s: %w", dir, err)
	}
	const overlayMagic = 0x794c7630
	if st.Type == overlayMagic {
		return "native", nil
	}
	return "overlayfs", nil
}

func (r Runner) waitForRuntime(ctx context.Context, n plan.Node) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := host.Run(ctx, r.Programs["ctr"], "--address", n.Socket(), "version")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("containerd of %s does not answer; see %s: %w", n.Name,
				r.Plan.Path("log", n.Name+"-containerd.log"), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Kill ends every process of the node at once, containers included, as a power cut would, and clears what only makes
// sense while they run: nothing answers for the node or its pods any more, and nothing is refused. Images, volumes and kubelet's own records stay.
func (r Runner) Kill(ctx context.Context, n plan.Node) error {
	for _, program := range []string{"kubelet", "kube-proxy", "containerd"} {
		if err := r.Table.Stop(ctx, n.Name+"/"+program, 0); err != nil {
			return err
		}
	}
	shim := r.Table.OwnedBy(n.Name + "/containerd")
	err := r.Table.KillMarked(ctx, func(_, env string) bool { return strings.Contains(env, shim) })
	if err != nil {
		return err
	}
	if err := cgroup.Kill(ctx, r.Groups, n.Cgroup); err != nil {
		return err
	}
	// The pods' interfaces would go by and by, each taking the route with it that a new pod of its address then misses.
	// So all of the node's network goes, now.
	if err := network.RemoveNode(ctx, n); err != nil {
		return err
	}
	if err := unmountBelow(n.Dir); err != nil {
		return err
	}
	// What is gone with the containers: containerd's run-time state and the pods' addresses.
	for _, d := range []string{"state", "ipam", "run"} {
		if err := os.RemoveAll(n.Path(d)); err != nil {
			return err
		}
	}
	return os.MkdirAll(n.Path("run"), 0o755)
}

// Down kills the node and removes what it leaves outside of its folder.
func (r Runner) Down(ctx context.Context, n plan.Node) error {
	if err := r.Kill(ctx, n); err != nil {
		return err
	}
	return errors.Join(cgroup.Remove(r.Groups, n.Cgroup), removeLogLinks(n))
}

// removeLogLinks takes away kubelet's links to container logs, which it makes outside of the node's folder.
func removeLogLinks(n plan.Node) error {
	links, err := filepath.Glob("/var/log/containers/*.log")
	if err != nil {
		return err
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, n.Dir+"/") {
			if err := os.Remove(l); err != nil {
				return err
			}
		}
	}
	return nil
}
