package solrcloud

import (
	"context"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// Chart is the SolrCloud as a Helm release: what a team has before it hears of
// Rollcall.
type Chart struct {
	bed *testbed.Bed
	dir string
	// set is what the values are by now: changes add up.
	set []func(*appsv1.StatefulSet)
}

// NewChart keeps the chart in a directory.
func NewChart(bed *testbed.Bed, dir string) *Chart { return &Chart{bed: bed, dir: dir} }

// Deploy installs the release and waits until every pod is Ready.
func (c *Chart) Deploy(ctx context.Context, change func(*appsv1.StatefulSet)) (*Cloud, error) {
	if err := c.bed.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+Namespace+"}\n"); err != nil {
		return nil, err
	}
	return deploy(ctx, c.bed, func() error { return c.Upgrade(ctx, change) })
}

// Upgrade is helm upgrade --install with one more change and further flags.
func (c *Chart) Upgrade(ctx context.Context, change func(*appsv1.StatefulSet), flags ...string) error {
	c.set = append(c.set, change)
	text, err := Manifest(c.bed, func(set *appsv1.StatefulSet) {
		for _, change := range c.set {
			change(set)
		}
	})
	if err != nil {
		return err
	}
	if text, err = manifests.Without(text, "Namespace"); err != nil {
		return err
	}
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: solr\nversion: 1.0.0\n", filepath.Join("templates", "solr.yaml"): text}
	for name, content := range files {
		name = filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return c.bed.Helm(ctx, append([]string{"upgrade", "--install", Name, c.dir, "--namespace", Namespace}, flags...)...)
}
