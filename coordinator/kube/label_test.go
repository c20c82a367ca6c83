package kube

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The labels of a pod come back as they were, and pods of one revision have one
// text between them.
func TestLabelsOfPods(t *testing.T) {
	pool := Pool{Name: "search", UID: "set"}
	with := func(name string, all map[string]string) *Pod {
		return podOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: all,
			OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: new(true)}}}}, pool)
	}
	of := func(name, index string) map[string]string {
		return map[string]string{"app": "search", "app.kubernetes.io/name": "solr", "empty": "", "controller-revision-hash": "v1",
			"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": index}
	}
	plain := with("search-10", of("search-10", "10"))
	require.Equal(t, labels.Set(of("search-10", "10")), plain.Labels())

	guarded := of("search-0", "0")
	guarded["rollcall.dev/guard"], guarded["rollcall.dev/guard-cluster"] = "closed", "books"
	closed := with("search-0", guarded)
	require.Equal(t, labels.Set(guarded), closed.Labels())
	require.Equal(t, "books", closed.GuardCluster)
	require.Equal(t, plain.Shared, closed.Shared)
	require.Same(t, unsafe.StringData(plain.Shared), unsafe.StringData(closed.Shared))

	bare := with("search-1", nil)
	require.Equal(t, labels.Set{"statefulset.kubernetes.io/pod-name": "search-1", "apps.kubernetes.io/pod-index": "1"}, bare.Labels())
}
