package volume

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rollcall-dev/rollcall/test/cluster/plan"
)

func TestEnsure(t *testing.T) {
	p, err := plan.New(0, "x", t.TempDir(), 2)
	require.NoError(t, err)
	c := fake.NewSimpleClientset()
	for range 2 {
		recycled, err := Ensure(t.Context(), c, p)
		require.NoError(t, err)
		require.Zero(t, recycled)
	}
	list, err := c.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2*plan.VolumesPerNode)
	for _, v := range list.Items {
		st, err := os.Stat(v.Spec.Local.Path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o777), st.Mode().Perm(), "containers that are not root write there")
		require.NotNil(t, v.Spec.NodeAffinity)
	}
}

// TestLostVolumesAreMadeAgain checks that a deleted volume comes back empty.
func TestLostVolumesAreMadeAgain(t *testing.T) {
	p, err := plan.New(0, "x", t.TempDir(), 1)
	require.NoError(t, err)
	c := fake.NewSimpleClientset()
	_, err = Ensure(t.Context(), c, p)
	require.NoError(t, err)
	volumes := c.CoreV1().PersistentVolumes()
	lost, err := volumes.Get(t.Context(), "node1-v1", metav1.GetOptions{})
	require.NoError(t, err)
	file := filepath.Join(lost.Spec.Local.Path, "data")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	require.NoError(t, volumes.Delete(t.Context(), lost.Name, metav1.DeleteOptions{}))
	_, err = Ensure(t.Context(), c, p)
	require.NoError(t, err)
	_, err = volumes.Get(t.Context(), lost.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoFileExists(t, file)
}

func TestRecycle(t *testing.T) {
	p, err := plan.New(0, "x", t.TempDir(), 1)
	require.NoError(t, err)
	kept := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "kept", UID: "1"}}
	again := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "again", UID: "new"}}
	c := fake.NewSimpleClientset(kept, again)
	_, err = Ensure(t.Context(), c, p)
	require.NoError(t, err)

	state := func(name string, phase corev1.PersistentVolumePhase, claim string, uid types.UID) string {
		v, err := c.CoreV1().PersistentVolumes().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		v.Status.Phase = phase
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: claim, UID: uid}
		_, err = c.CoreV1().PersistentVolumes().Update(t.Context(), v, metav1.UpdateOptions{})
		require.NoError(t, err)
		file := filepath.Join(v.Spec.Local.Path, "data")
		require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
		return file
	}
	bound := state("node1-v0", corev1.VolumeBound, "kept", "1")
	claimed := state("node1-v1", corev1.VolumeReleased, "kept", "1")
	gone := state("node1-v2", corev1.VolumeReleased, "gone", "1")
	renewed := state("node1-v3", corev1.VolumeReleased, "again", "old")

	recycled, err := Ensure(t.Context(), c, p)
	require.NoError(t, err)
	require.Equal(t, 2, recycled)
	require.FileExists(t, bound)
	require.FileExists(t, claimed, "its claim is still there")
	require.NoFileExists(t, gone)
	require.NoFileExists(t, renewed, "a new claim of the same name gets no old data")
	v, err := c.CoreV1().PersistentVolumes().Get(t.Context(), "node1-v2", metav1.GetOptions{})
	require.NoError(t, err)
	require.Nil(t, v.Spec.ClaimRef)
}
