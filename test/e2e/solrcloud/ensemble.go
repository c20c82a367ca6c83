package solrcloud

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

const (
	// Ensemble is the StatefulSet of the ensemble in manifests/solr.yaml.
	Ensemble = "zk"
	// EnsembleCluster is the DatabaseCluster in manifests/zookeeper-databasecluster.yaml.
	EnsembleCluster = "zookeeper"
	// EnsemblePods selects the ensemble's pods.
	EnsemblePods = "app=" + Ensemble
	ensemblePort = 2181
)

// WatchEnsemble follows the ensemble's pods, with their client ports.
func WatchEnsemble(ctx context.Context, bed *testbed.Bed) (*testbed.Pods, error) {
	return bed.WatchPods(ctx, Namespace, EnsemblePods, ensemblePort)
}

// WithEnsemble is a SolrCloud and its ensemble, both under Rollcall.
type WithEnsemble struct {
	*Cloud
	servers *testbed.Pods
}

// DeployWithEnsemble applies the manifest with both labelled, and without the ensemble's own
// PodDisruptionBudget, and waits until every pod is Ready.
func DeployWithEnsemble(ctx context.Context, bed *testbed.Bed) (*WithEnsemble, error) {
	text, err := Manifest(bed, Labelled)
	if err != nil {
		return nil, err
	}
	if text, err = manifests.Edit(text, labelledEnsemble, Ensemble); err != nil {
		return nil, err
	}
	if text, err = manifests.Without(text, "PodDisruptionBudget"); err != nil {
		return nil, err
	}
	cloud, err := deploy(ctx, bed, func() error { return bed.Apply(ctx, text) })
	if err != nil {
		return nil, err
	}
	servers, err := WatchEnsemble(ctx, bed)
	return &WithEnsemble{cloud, servers}, err
}

func labelledEnsemble(set *appsv1.StatefulSet) {
	manifests.LabelAll(set, EnsembleCluster)
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
}

// SetImage upgrades both at once.
func (w *WithEnsemble) SetImage(ctx context.Context, tag string) error {
	if err := PatchEnsemble(ctx, w.Bed, fmt.Sprintf(`{"template":{"spec":{"containers":[{"name":"zookeeper","image":%q}]}}}`, image(tag))); err != nil {
		return err
	}
	return w.Cloud.SetImage(ctx, tag)
}

// RolledOut waits for both.
func (w *WithEnsemble) RolledOut(ctx context.Context, limit time.Duration) error {
	if err := EnsembleRolledOut(ctx, w.Bed, w.servers, limit); err != nil {
		return err
	}
	return w.Cloud.RolledOut(ctx, limit)
}

// PatchEnsemble changes the spec of the ensemble's StatefulSet by a strategic merge patch.
func PatchEnsemble(ctx context.Context, bed *testbed.Bed, spec string) error {
	patch := fmt.Sprintf(`{"spec":%s}`, spec)
	_, err := bed.Kube.AppsV1().StatefulSets(Namespace).Patch(ctx, Ensemble, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "e2e"})
	return err
}

// EnsembleRolledOut waits until every server is Ready on the update revision.
func EnsembleRolledOut(ctx context.Context, bed *testbed.Bed, servers *testbed.Pods, limit time.Duration) error {
	return bed.Eventually(ctx, "the ensemble to be rolled", limit, func(ctx context.Context) error {
		set, err := bed.Kube.AppsV1().StatefulSets(Namespace).Get(ctx, Ensemble, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return servers.Updated(set)
	})
}
