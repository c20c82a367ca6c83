// Package fdbcluster is the FoundationDB of the end-to-end tests: nine pods in three
// zones as a chart would render them, whose server is a simulated one.
package fdbcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

const (
	// Namespace is the namespace of manifests/foundationdb.yaml, and the Name of its StatefulSet
	// and DatabaseCluster.
	Namespace = "demo"
	Name      = "fdb"
	// Container is the database's container, Image its image without a tag.
	Container = "foundationdb"
	Image     = "docker.io/rollcall-test/foundationdb"
	// Zone is the label of a pod that names its zone.
	Zone = "topology.kubernetes.io/zone"

	world     = "fdb-world"
	worldPort = 4400
	port      = 4500
)

// Cluster is a running FoundationDB.
type Cluster struct {
	Bed  *testbed.Bed
	Pods *testbed.Pods
	// Copies is the number of copies of all data.
	Copies int
	world  *testbed.Pods
	end    context.CancelFunc
}

// Options are the options of a FoundationDB.
type Options struct {
	// Redundancy is double, the default, or triple.
	Redundancy string
	// Edit changes the StatefulSet.
	Edit func(*appsv1.StatefulSet)
}

// Deploy applies the manifest and waits until the database is whole. The pods have no
// agents before somebody labels them.
func Deploy(ctx context.Context, bed *testbed.Bed, o Options) (*Cluster, error) {
	if err := bed.RecycleVolumes(ctx); err != nil {
		return nil, err
	}
	file, err := os.ReadFile(bed.Path("test", "e2e", "manifests", "foundationdb.yaml"))
	if err != nil {
		return nil, err
	}
	text := string(file)
	copies := 2
	if o.Redundancy != "" && o.Redundancy != "double" {
		if o.Redundancy != "triple" {
			return nil, fmt.Errorf("redundancy %q: must be double or triple", o.Redundancy)
		}
		copies, text = 3, strings.Replace(text, "-redundancy=double", "-redundancy=triple", 1)
	}
	text, err = manifests.Edit(text, func(set *appsv1.StatefulSet) {
		manifests.LabelAll(set, Name)
		if o.Edit != nil {
			o.Edit(set)
		}
	}, Name)
	if err != nil {
		return nil, err
	}
	if err := bed.Apply(ctx, text); err != nil {
		return nil, err
	}
	watch, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &Cluster{Bed: bed, Copies: copies, end: end}
	if c.Pods, err = bed.WatchPods(watch, Namespace, "app="+Name, port); err != nil {
		return nil, errors.Join(err, c.forget())
	}
	if c.world, err = bed.WatchPods(watch, Namespace, "app="+world, worldPort); err != nil {
		return nil, errors.Join(err, c.forget())
	}
	return c, c.Whole(ctx, 6*time.Minute)
}

func (c *Cluster) forget() error { c.end(); return nil }

// Delete removes the FoundationDB with its data and waits until it is gone.
func (c *Cluster) Delete(ctx context.Context) error {
	_, err := c.Bed.Kubectl(ctx, "", "delete", "namespace", Namespace, "--wait=true", "--timeout=400s", "--ignore-not-found")
	return errors.Join(err, c.forget())
}

// Look at what there really is.
func (c *Cluster) Look(ctx context.Context) (wire.View, error) {
	return c.order(ctx, wire.Command{Op: wire.Look})
}

func (c *Cluster) order(ctx context.Context, command wire.Command) (wire.View, error) {
	var view wire.View
	for _, url := range c.world.URLs() {
		limited, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return view, wire.Post(limited, wire.NewClient(), strings.TrimPrefix(url, "http://"), wire.PathControl, command, &view)
	}
	return view, errors.New("the world's pod is not Ready")
}

// Patch changes the StatefulSet by a strategic merge patch.
func (c *Cluster) Patch(ctx context.Context, patch string) error {
	_, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Patch(ctx, Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "e2e"})
	return err
}

// Touch changes an annotation of the pod template: a change that only restarts.
func (c *Cluster) Touch(ctx context.Context, value string) error {
	return c.Patch(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, manifests.Changed, value))
}

// Whole waits until every pod is Ready on its update revision and nothing of the
// database is missing, moving, excluded or under maintenance.
func (c *Cluster) Whole(ctx context.Context, limit time.Duration) error {
	return c.Bed.Eventually(ctx, "a whole database", limit, func(ctx context.Context) error {
		set, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Get(ctx, Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := c.Pods.Updated(set); err != nil {
			return err
		}
		v, err := c.Look(ctx)
		if err != nil {
			return err
		}
		switch {
		case !v.Available, v.SpareCopies != c.Copies-1, len(v.Up) != int(*set.Spec.Replicas), len(v.Seats) == 0:
			return fmt.Errorf("available %t, %d spare copies, up are %v, seats on %v", v.Available, v.SpareCopies, v.Up, v.Seats)
		case v.Maintenance != "", len(v.Excluded) > 0:
			return fmt.Errorf("maintenance of %q, excluded are %v", v.Maintenance, v.Excluded)
		}
		return nil
	})
}

// Pod by its name, nil when there is none.
func (c *Cluster) Pod(name string) *corev1.Pod {
	pods := c.Pods.All()
	if i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Name == name }); i >= 0 {
		return pods[i]
	}
	return nil
}

// NodeApart is a node that the world is not on, so that it can be stopped, and the pods on it.
func (c *Cluster) NodeApart() (node string, pods []string) {
	for _, w := range c.world.All() {
		for _, p := range c.Pods.All() {
			if p.Spec.NodeName != w.Spec.NodeName && (node == "" || node == p.Spec.NodeName) {
				node, pods = p.Spec.NodeName, append(pods, p.Name)
			}
		}
	}
	return node, pods
}
