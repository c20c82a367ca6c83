// Package solrcloud is the SolrCloud of the end-to-end tests: a chart's output
// that knows nothing of Rollcall, with collections of every kind of replica.
package solrcloud

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	// Namespace and Name of the StatefulSet in manifests/solr.yaml.
	Namespace = "demo"
	Name      = "solr"
	Port      = 8983
	// Container is the database's container.
	Container = "solr"
)

// Collection to create.
type Collection struct {
	Name                    string
	Shards, NRT, TLOG, PULL int
}

// Collections are the collections of the demo: several shapes, all three types of replica, every
// shard with at least two copies that may lead, and something of each on every pod. Two habits of
// Solr 9 made the shapes what they are; neither is a pod that was taken too early, but a watcher or
// a client could not tell:
//
// No shard has three TLOG replicas. Whenever the leader of a TLOG shard changes under writes,
// whoever moves it, every other TLOG replica recovers for some seconds, so two of three are
// unavailable although no pod is. Rollcall waits for them.
//
// Every collection has a replica on every pod. A node without one forwards a request to a node that
// has one, once, and for about a second also to a node that is stopping: it refuses connections
// before it leaves the live nodes.
var Collections = []Collection{
	{Name: "books", Shards: 3, NRT: 2},
	{Name: "logs", Shards: 3, TLOG: 2},
	{Name: "users", Shards: 2, NRT: 3},
	{Name: "catalog", Shards: 2, TLOG: 2, PULL: 1},
}

// HasTLOG reports whether followers in the collection fetch the index from their leader.
func HasTLOG(collection string) bool {
	return slices.ContainsFunc(Collections, func(c Collection) bool { return c.Name == collection && c.TLOG > 0 })
}

// Names returns the names of the collections.
func Names() []string {
	var names []string
	for _, c := range Collections {
		names = append(names, c.Name)
	}
	return names
}

// Cloud is a running SolrCloud.
type Cloud struct {
	Bed  *testbed.Bed
	Pods *testbed.Pods
}

// Manifest is the SolrCloud as a chart renders it. edit, when set, changes the
// StatefulSet of the database.
func Manifest(bed *testbed.Bed, edit func(*appsv1.StatefulSet)) (string, error) {
	manifest, err := os.ReadFile(bed.Path("test", "e2e", "manifests", "solr.yaml"))
	if err != nil {
		return "", err
	}
	return manifests.Edit(string(manifest), edit, Name)
}

// Deploy applies the manifest and waits until every pod is Ready. edit may
// change the StatefulSet of the database before.
func Deploy(ctx context.Context, bed *testbed.Bed, edit func(*appsv1.StatefulSet)) (*Cloud, error) {
	return deploy(ctx, bed, func() error {
		text, err := Manifest(bed, edit)
		if err != nil {
			return err
		}
		return bed.Apply(ctx, text)
	})
}

func deploy(ctx context.Context, bed *testbed.Bed, apply func() error) (*Cloud, error) {
	if err := bed.RecycleVolumes(ctx); err != nil {
		return nil, err
	}
	if err := apply(); err != nil {
		return nil, err
	}
	pods, err := bed.WatchPods(ctx, Namespace, "app=solr", Port)
	if err != nil {
		return nil, err
	}
	c := &Cloud{Bed: bed, Pods: pods}
	return c, bed.Eventually(ctx, "SolrCloud Ready", 6*time.Minute, func(ctx context.Context) error {
		set, err := c.StatefulSet(ctx)
		if err != nil {
			return err
		}
		if n := len(pods.URLs()); n != int(*set.Spec.Replicas) {
			return fmt.Errorf("%d of %d pods are Ready", n, *set.Spec.Replicas)
		}
		return nil
	})
}

// Delete removes the SolrCloud with its data and waits until it is gone.
func (c *Cloud) Delete(ctx context.Context) error {
	_, err := c.Bed.Kubectl(ctx, "", "delete", "namespace", Namespace, "--wait=true", "--timeout=400s", "--ignore-not-found")
	return err
}

// StatefulSet as it is now.
func (c *Cloud) StatefulSet(ctx context.Context) (*appsv1.StatefulSet, error) {
	return c.Bed.Kube.AppsV1().StatefulSets(Namespace).Get(ctx, Name, metav1.GetOptions{})
}

// CreateCollections makes all of Collections and waits until they are active.
func (c *Cloud) CreateCollections(ctx context.Context) error {
	for _, x := range Collections {
		q := url.Values{
			"action": {"CREATE"}, "name": {x.Name}, "numShards": {fmt.Sprint(x.Shards)}, "wt": {"json"},
			"nrtReplicas": {fmt.Sprint(x.NRT)}, "tlogReplicas": {fmt.Sprint(x.TLOG)}, "pullReplicas": {fmt.Sprint(x.PULL)},
			"waitForFinalState": {"true"},
		}
		err := c.Bed.Eventually(ctx, "collection "+x.Name, 2*time.Minute, func(ctx context.Context) error {
			err := c.admin(ctx, q, nil)
			if err != nil && strings.Contains(err.Error(), "collection already exists") {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return c.AllActive(ctx, 2*time.Minute)
}

// AllActive waits until Solr says that every replica is active and every shard led.
func (c *Cloud) AllActive(ctx context.Context, limit time.Duration) error {
	return c.Bed.Eventually(ctx, "all replicas active", limit, func(ctx context.Context) error {
		urls := c.Pods.URLs()
		if len(urls) == 0 {
			return errors.New("no Ready pod")
		}
		s, err := witness.ReadSolr(ctx, urls[0])
		if err != nil {
			return err
		}
		if !s.AllActive() {
			return fmt.Errorf("not all replicas are active: %s", s.Missing())
		}
		return nil
	})
}

func (c *Cloud) admin(ctx context.Context, q url.Values, into any) error {
	urls := c.Pods.URLs()
	if len(urls) == 0 {
		return errors.New("no Ready pod")
	}
	if err := ask(ctx, urls[0]+"/solr/admin/collections?"+q.Encode(), into); err != nil {
		return fmt.Errorf("%s %s: %w", q.Get("action"), q.Get("name"), err)
	}
	return nil
}

func ask(ctx context.Context, url string, into any) error {
	return testbed.Call{URL: url, Into: into}.Do(ctx)
}

func image(tag string) string { return "docker.io/rollcall-test/solr:" + tag }

// Patch changes the StatefulSet by a strategic merge patch.
func (c *Cloud) Patch(ctx context.Context, patch string) error {
	_, err := c.Bed.Kube.AppsV1().StatefulSets(Namespace).Patch(ctx, Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "e2e"})
	return err
}

// SetImage changes the tag of the database's image: an upgrade.
func (c *Cloud) SetImage(ctx context.Context, tag string) error {
	return c.Patch(ctx, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}}`, Container, image(tag)))
}

// Touch changes an annotation of the pod template: a change that only restarts.
func (c *Cloud) Touch(ctx context.Context, value string) error {
	return c.Patch(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, manifests.Changed, value))
}

// RolledOut waits until every pod is Ready on the update revision and every replica active.
func (c *Cloud) RolledOut(ctx context.Context, limit time.Duration) error {
	err := c.Bed.Eventually(ctx, "rollout", limit, func(ctx context.Context) error {
		set, err := c.StatefulSet(ctx)
		if err != nil {
			return err
		}
		return c.Pods.Updated(set)
	})
	if err != nil {
		return err
	}
	return c.AllActive(ctx, limit)
}

// Load is how clients use the cloud.
func (c *Cloud) Load() load.Options {
	return load.Options{Targets: c.Pods.URLs, Collections: Names()}
}

// Clients use all collections: every one has several replicas.
func (c *Cloud) Clients() (all, alone rehearsal.Client, err error) {
	all, err = load.New(c.Load())
	return all, nil, err
}

// Watched is how a witness looks at the cloud.
func (c *Cloud) Watched(ctx context.Context) (witness.Options, error) {
	set, err := c.StatefulSet(ctx)
	if err != nil {
		return witness.Options{}, err
	}
	return witness.Options{Pods: c.Pods.Witnessed, Desired: int(*set.Spec.Replicas)}, nil
}
