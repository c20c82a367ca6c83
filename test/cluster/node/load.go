package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
	"github.com/rollcall-dev/rollcall/test/cluster/host"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
)

// Load imports the images of a docker-archive into the node. It reports false when the node has them from that very
// file already.
func (r Runner) Load(ctx context.Context, n plan.Node, file string) (loaded bool, err error) {
	tags, err := archive.Tags(file)
	if err != nil {
		return false, err
	}
	st, err := os.Stat(file)
	if err != nil {
		return false, err
	}
	origin := fmt.Sprintf("%s %d %s", file, st.Size(), st.ModTime().UTC())
	known := r.loadedImages(n)
	have, err := r.ctr(ctx, n, "images", "list", "--quiet")
	if err != nil {
		return false, err
	}
	if allKnown(tags, origin, known, strings.Fields(have)) {
		return false, nil
	}
	snapshotter, err := snapshotterFor(r.Plan.Dir)
	if err != nil {
		return false, err
	}
	if _, err := r.ctr(ctx, n, "images", "import", "--local", "--snapshotter", snapshotter, file); err != nil {
		return false, fmt.Errorf("load %s into %s: %w", file, n.Name, err)
	}
	for _, t := range tags {
		known[t] = origin
	}
	b, err := json.MarshalIndent(known, "", " ")
	if err != nil {
		return false, err
	}
	return true, host.WriteFile(n.Path("loaded.json"), b, 0o644)
}

// allKnown reports whether every tag was loaded from this file and is still there.
func allKnown(tags []string, origin string, known map[string]string, have []string) bool {
	present := map[string]bool{}
	for _, h := range have {
		present[h] = true
	}
	for _, t := range tags {
		if known[t] != origin || !present[t] {
			return false
		}
	}
	return true
}

// loadedImages reads which image came from which file; without the record everything is loaded again.
func (r Runner) loadedImages(n plan.Node) map[string]string {
	known := map[string]string{}
	b, err := os.ReadFile(n.Path("loaded.json"))
	if err != nil || json.Unmarshal(b, &known) != nil {
		return map[string]string{}
	}
	return known
}

func (r Runner) ctr(ctx context.Context, n plan.Node, args ...string) (string, error) {
	argv := append([]string{r.Programs["ctr"], "--address", n.Socket(), "--namespace", "k8s.io"}, args...)
	return host.Run(ctx, argv...)
}
