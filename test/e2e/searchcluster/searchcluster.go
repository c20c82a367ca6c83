// Package searchcluster is the OpenSearch of the end-to-end tests: a chart's
// output that knows nothing of Rollcall, three pools of one database, with
// indices of none, one and two replicas.
package searchcluster

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	// Namespace is the namespace of manifests/opensearch.yaml, and the Name of its DatabaseCluster.
	Namespace = "demo"
	Name      = "os"
	Port      = 9200
	// Container is the database's container.
	Container = "opensearch"

	// Managers, Data and Coordinating are the StatefulSets.
	Managers     = "os-manager"
	Data         = "os-data"
	Coordinating = "os-coord"
)

// Pools in the order in which their pods have to go.
var Pools = []string{Data, Coordinating, Managers}

// Kind is the place of a pod's pool in that order.
func Kind(pod string) int {
	for i, pool := range Pools {
		if strings.HasPrefix(pod, pool+"-") {
			return i
		}
	}
	return -1
}

// Cluster is a running OpenSearch.
type Cluster struct {
	Bed  *testbed.Bed
	Pods *testbed.Pods
}

// Labelled is a chart with the label in the StatefulSets and in their pod templates.
func Labelled(set *appsv1.StatefulSet) {
	manifests.LabelAll(set, Name)
}

// EmptyDir gives the nodes with data a volume that goes with the pod.
func EmptyDir(set *appsv1.StatefulSet) {
	if set.Name != Data {
		return
	}
	for _, claim := range set.Spec.VolumeClaimTemplates {
		set.Spec.Template.Spec.Volumes = append(set.Spec.Template.Spec.Volumes, corev1.Volume{
			Name: claim.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
		})
	}
	set.Spec.VolumeClaimTemplates = nil
}

// Manifest is the OpenSearch as a chart renders it. edit, when set, changes the StatefulSets.
func Manifest(bed *testbed.Bed, edit func(*appsv1.StatefulSet)) (string, error) {
	return manifest(bed, "opensearch.yaml", edit)
}

func manifest(bed *testbed.Bed, name string, edit func(*appsv1.StatefulSet)) (string, error) {
	manifest, err := os.ReadFile(bed.Path("test", "e2e", "manifests", name))
	if err != nil {
		return "", err
	}
	return manifests.Edit(string(manifest), edit, Pools...)
}

// Deploy applies the manifest and waits until every pod is Ready. edit may change
// the StatefulSets before.
func Deploy(ctx context.Context, bed *testbed.Bed, edit func(*appsv1.StatefulSet)) (*Cluster, error) {
	return deploy(ctx, bed, "opensearch.yaml", edit, nil)
}

func deploy(ctx context.Context, bed *testbed.Bed, name string, edit func(*appsv1.StatefulSet), login *url.Userinfo) (*Cluster, error) {
	if err := bed.RecycleVolumes(ctx); err != nil {
		return nil, err
	}
	text, err := manifest(bed, name, edit)
	if err != nil {
		return nil, err
	}
	if err := bed.Apply(ctx, text); err != nil {
		return nil, err
	}
	pods, err := bed.WatchPods(ctx, Namespace, "app=opensearch", Port)
	if err != nil {
		return nil, err
	}
	pods.Secured(login)
	c := &Cluster{Bed: bed, Pods: pods}
	return c, c.Updated(ctx, 6*time.Minute)
}

// Delete removes the OpenSearch with its data and waits until it is gone.
func (c *Cluster) Delete(ctx context.Context) error {
	_, err := c.Bed.Kubectl(ctx, "", "delete", "namespace", Namespace, "--wait=true", "--timeout=400s", "--ignore-not-found")
	return err
}

// Patch changes a StatefulSet by a strategic merge patch.
func (c *Cluster) Patch(ctx context.Context, pool, patch string) error {
	_, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Patch(ctx, pool, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "e2e"})
	return err
}

// SetImage changes the tag of the database's image in all pools: an upgrade.
func (c *Cluster) SetImage(ctx context.Context, tag string) error {
	return c.each(ctx, Pools, Image(tag))
}

// Touch changes an annotation of the pod templates of the named pools, or of all: a change that only restarts.
func (c *Cluster) Touch(ctx context.Context, value string, pools ...string) error {
	if len(pools) == 0 {
		pools = Pools
	}
	return c.each(ctx, pools, fmt.Sprintf(`{"spec":{"template":{"metadata":%s}}}`, noted(value)))
}

// Image is a patch that changes the tag of the image.
func Image(tag string) string {
	return fmt.Sprintf(`{"spec":{"template":{"spec":%s}}}`, tagged(tag))
}

// ImageAndNote is a patch that changes the tag and the annotation at once.
func ImageAndNote(tag, value string) string {
	return fmt.Sprintf(`{"spec":{"template":{"metadata":%s,"spec":%s}}}`, noted(value), tagged(tag))
}

func tagged(tag string) string {
	return fmt.Sprintf(`{"containers":[{"name":%q,"image":"docker.io/rollcall-test/opensearch:%s"}]}`, Container, tag)
}

func noted(value string) string {
	return fmt.Sprintf(`{"annotations":{%q:%q}}`, manifests.Changed, value)
}

func (c *Cluster) each(ctx context.Context, pools []string, patch string) error {
	for _, pool := range pools {
		if err := c.Patch(ctx, pool, patch); err != nil {
			return err
		}
	}
	return nil
}

// RolledOut waits until every pod of every pool is Ready on its update revision and every copy serves.
func (c *Cluster) RolledOut(ctx context.Context, limit time.Duration) error {
	if err := c.Updated(ctx, limit); err != nil {
		return err
	}
	return c.AllActive(ctx, limit)
}

// Updated waits until every pod of every pool is Ready on its update revision.
func (c *Cluster) Updated(ctx context.Context, limit time.Duration) error {
	return c.Bed.Eventually(ctx, "pods to be updated", limit, func(ctx context.Context) error {
		for _, pool := range Pools {
			set, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Get(ctx, pool, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := c.Pods.Updated(set); err != nil {
				return err
			}
		}
		return nil
	})
}

// Load is how clients use the indices with replicas.
func (c *Cluster) Load() load.Options {
	return load.Options{Database: load.OpenSearch{}, Targets: c.Pods.URLs, Collections: names(func(x Index) bool { return x.Replicas > 0 })}
}

// Alone are the indices without replicas.
func (c *Cluster) Alone() []string { return names(func(x Index) bool { return x.Replicas == 0 }) }

// Clients use the indices with replicas, and apart from them those without.
func (c *Cluster) Clients() (all, alone rehearsal.Client, err error) {
	if all, err = load.New(c.Load()); err != nil {
		return nil, nil, err
	}
	opts := c.Load()
	opts.Collections, opts.Threads, opts.Timeout = c.Alone(), 1, 3*time.Second
	alone, err = load.New(opts)
	return all, alone, err
}

// Watched is how a witness looks at it.
func (c *Cluster) Watched(context.Context) (witness.Options, error) {
	return witness.Options{Pods: c.Pods.Witnessed, Desired: len(c.Pods.All()), Read: witness.ReadOpenSearch}, nil
}
