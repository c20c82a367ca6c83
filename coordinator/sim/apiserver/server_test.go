package apiserver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

func directly(s *Server) Ask {
	return func(_ context.Context, c Call) (runtime.Object, error) { return s.Serve(c) }
}

// Whoever names a UID or a resourceVersion means that very object.
func TestConditions(t *testing.T) {
	s := New()
	s.Removing = func(Removal) {}
	require.NoError(t, s.Create(Pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "a", Labels: map[string]string{"x": "1"}}}))
	pods, evictions := directly(s).Kubernetes().CoreV1().Pods("prod"), directly(s).Kubernetes().PolicyV1().Evictions("prod")
	patch := func(body string) error {
		_, err := pods.Patch(t.Context(), "a", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	was, err := pods.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, patch(`{"metadata":{"resourceVersion":"`+was.ResourceVersion+`","labels":{"x":null,"y":"2"}}}`))
	is, err := pods.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"y": "2"}, is.Labels)
	require.Equal(t, map[string]string{"x": "1"}, was.Labels, "what is stored is never changed")
	require.True(t, apierrors.IsConflict(patch(`{"metadata":{"resourceVersion":"`+was.ResourceVersion+`"}}`)))
	require.True(t, apierrors.IsInvalid(patch(`{"metadata":{"uid":"other"}}`)))

	other := types.UID("other")
	for _, p := range []metav1.Preconditions{{UID: &other}, {UID: &was.UID, ResourceVersion: &was.ResourceVersion}} {
		options := metav1.DeleteOptions{Preconditions: &p}
		require.True(t, apierrors.IsConflict(pods.Delete(t.Context(), "a", options)))
		require.True(t, apierrors.IsConflict(evictions.Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "a"}, DeleteOptions: &options})))
	}
	require.NoError(t, pods.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &is.UID, ResourceVersion: &is.ResourceVersion}}))
	require.NotNil(t, Get[*corev1.Pod](s, Pods, "prod", "a").DeletionTimestamp, "its kubelet has to end it")
	require.True(t, apierrors.IsNotFound(pods.Delete(t.Context(), "b", metav1.DeleteOptions{})))
}

// A status is written apart from the rest, finalizers are waited for, and a dry run changes nothing.
func TestSubresourcesAndFinalizers(t *testing.T) {
	s := New()
	require.NoError(t, s.Create(Clusters, &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "db", Generation: 1}}))
	clusters := directly(s).DatabaseClusters("prod")
	patch := func(body string) *v1alpha1.DatabaseCluster {
		c, err := clusters.Patch(t.Context(), "db", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		require.NoError(t, err)
		return c
	}
	next := patch(`{"metadata":{"finalizers":["f"]},"spec":{"engine":"Solr"},"status":{"epoch":7}}`).DeepCopy()
	require.EqualValues(t, 2, next.Generation)
	require.Zero(t, next.Status.Epoch)
	next.Status.Epoch, next.Spec.Engine = 3, "Redis"
	next, err := clusters.UpdateStatus(t.Context(), next, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, next.Status.Epoch)
	require.EqualValues(t, "Solr", next.Spec.Engine)
	require.EqualValues(t, 2, next.Generation)

	require.NoError(t, clusters.Delete(t.Context(), "db", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	require.Nil(t, Get[*v1alpha1.DatabaseCluster](s, Clusters, "prod", "db").DeletionTimestamp)
	require.NoError(t, clusters.Delete(t.Context(), "db", metav1.DeleteOptions{}))
	require.NotNil(t, Get[*v1alpha1.DatabaseCluster](s, Clusters, "prod", "db").DeletionTimestamp)
	patch(`{"metadata":{"finalizers":null}}`)
	require.Nil(t, Get[*v1alpha1.DatabaseCluster](s, Clusters, "prod", "db"))
}
