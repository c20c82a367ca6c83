package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/test/cluster/host"
	"github.com/rollcall-dev/rollcall/test/cluster/network"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
)

// registry says which cluster of this machine has which instance number: a file per number, with the cluster's folder
// in it.
type registry struct {
	dir  string
	free func(plan.Plan) bool // whether nobody else uses the plan's names, addresses and ports
}

// machineRegistry lies where a restart of the machine clears it, as that clears what the numbers stand for.
var machineRegistry = registry{
	dir:  "/run/rollcall/instances",
	free: func(p plan.Plan) bool { return !network.Exists(p) && !overlaps(p) && portsFree(p) },
}

// record is what a cluster remembers of itself.
type record struct {
	Instance int    `json:"instance"`
	Name     string `json:"name"`
	Nodes    int    `json:"nodes"`
}

// bare reports whether the cluster is a control plane without nodes.
func (r record) bare() bool { return r.Nodes == 0 }

const recordFile = "cluster.json"

func readRecord(dir string) (record, bool, error) {
	b, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, os.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, false, fmt.Errorf("%s: %w", filepath.Join(dir, recordFile), err)
	}
	return r, true, nil
}

func (r record) write(dir string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return host.WriteFile(filepath.Join(dir, recordFile), append(b, '\n'), 0o644)
}

// claim gives the cluster in dir its number: the one it had, or the lowest that nobody has.
func (r registry) claim(ctx context.Context, dir string, had *record, name string) (int, error) {
	unlock, err := host.Lock(ctx, filepath.Join(r.dir, "lock"))
	if err != nil {
		return 0, err
	}
	defer unlock()
	owners := r.owners()
	if had != nil {
		if o := owners[had.Instance]; o != "" && o != dir {
			return 0, fmt.Errorf("instance: number %d of this cluster is now used by the one in %s; "+
				"take one of them down with --purge", had.Instance, o)
		}
		return had.Instance, r.register(had.Instance, dir)
	}
	for i := range plan.MaxInstances {
		if owners[i] == dir {
			return i, nil // an earlier `up` died before it wrote its record
		}
	}
	for i := range plan.MaxInstances {
		if owners[i] != "" {
			continue
		}
		p, err := plan.New(i, name, dir, 1)
		if err != nil {
			return 0, err
		}
		if !r.free(p) {
			continue
		}
		return i, r.register(i, dir)
	}
	return 0, fmt.Errorf("instance: all %d numbers are in use", plan.MaxInstances)
}

func (r registry) register(instance int, dir string) error {
	return host.WriteFile(filepath.Join(r.dir, strconv.Itoa(instance)), []byte(dir+"\n"), 0o644)
}

func (r registry) release(instance int) error {
	err := os.Remove(filepath.Join(r.dir, strconv.Itoa(instance)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// owners reads the registry. A folder that is gone owns nothing.
func (r registry) owners() map[int]string {
	out := map[int]string{}
	for i := range plan.MaxInstances {
		b, err := os.ReadFile(filepath.Join(r.dir, strconv.Itoa(i)))
		if err != nil {
			continue
		}
		dir := strings.TrimSpace(string(b))
		if _, err := os.Stat(dir); err == nil {
			out[i] = dir
		}
	}
	return out
}

// overlaps reports whether an address of this machine lies in the plan's networks.
func overlaps(p plan.Plan) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		have, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		if slices.ContainsFunc([]netip.Prefix{p.NodeNet(), p.PodNet(), p.ServiceNet()}, have.Overlaps) {
			return true
		}
	}
	return false
}

func portsFree(p plan.Plan) bool {
	for _, port := range []int{p.Ports().EtcdClient, p.Ports().EtcdPeer, p.Ports().APIServer, p.Ports().ControllerManager} {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
