package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNotReady(t *testing.T) {
	node := func(ready corev1.ConditionStatus, taints ...string) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1"}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: "no network"}}
		for _, t := range taints {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: t})
		}
		return n
	}
	for _, tc := range []struct {
		nodes []corev1.Node
		want  string
	}{
		{nil, "node1 is not known yet"},
		{[]corev1.Node{node(corev1.ConditionFalse)}, "node1: no network"},
		{[]corev1.Node{node(corev1.ConditionTrue, corev1.TaintNodeNotReady)}, "node1 is tainted node.kubernetes.io/not-ready"},
		{[]corev1.Node{node(corev1.ConditionTrue, "maintenance")}, ""},
	} {
		require.Equal(t, tc.want, notReady("node1", tc.nodes))
	}
}

func TestPollDoesNotWaitForTheDead(t *testing.T) {
	log := filepath.Join(t.TempDir(), "x.log")
	require.NoError(t, os.WriteFile(log, []byte("1\n2\n3\n4\n5\n6\nbad flag\n"), 0o644))
	err := poll(t.Context(), "x", func(context.Context) error { return deadError{"etcd", log} })
	require.ErrorContains(t, err, "etcd has ended")
	require.ErrorContains(t, err, "bad flag")
	require.NotContains(t, err.Error(), "\n1\n")
}
