package kubetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestNothingIsLostBetweenAListAndItsWatch checks that a watch begins with what has changed since the
// list from which it goes on, and fails if that is not known any more.
func TestNothingIsLostBetweenAListAndItsWatch(t *testing.T) {
	pods := New().Client(nil).Kubernetes.CoreV1().Pods("ns")
	create := func(name string) {
		_, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	create("a")
	create("b")
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	create("c")
	require.NoError(t, pods.Delete(t.Context(), "a", metav1.DeleteOptions{}))

	w, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	for _, want := range []string{"ADDED c", "DELETED a", "ADDED d"} {
		if want == "ADDED d" {
			create("d")
		}
		event := <-w.ResultChan()
		require.Equal(t, want, fmt.Sprint(event.Type, " ", event.Object.(*corev1.Pod).Name))
	}
	w.Stop()

	for i := range remembered {
		create(fmt.Sprint("e", i))
	}
	_, err = pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	var none watch.Interface
	none, err = pods.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, none.ResultChan(), "a watch of no version begins now")
}
