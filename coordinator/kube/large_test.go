package kube

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// kept is the length of all texts of a struct, at any depth.
func kept(v reflect.Value) (size int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Struct:
		for _, field := range v.Fields() {
			size += kept(field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			size += kept(v.Index(i))
		}
	}
	return size
}

// large are texts of 4.5 MB in all.
func large(meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	long := strings.Repeat("x", 1<<19)
	meta.Annotations = map[string]string{
		v1alpha1.AnnotationUnit: long, v1alpha1.AnnotationPartition: long, v1alpha1.AnnotationClaim: long, v1alpha1.AnnotationReplace: long,
	}
	spec.NodeSelector = map[string]string{"a": long}
	spec.Containers = append(spec.Containers, corev1.Container{Name: "c", Image: long})
	for i := range 20_000 {
		spec.Containers = append(spec.Containers, corev1.Container{Name: fmt.Sprint("c", i)})
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: fmt.Sprint(i)})
	}
	spec.Volumes = []corev1.Volume{{Name: v1alpha1.CredentialsVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: long}}}}
}

// Whoever may make StatefulSets in some namespace puts Rollcall's label on them. What each
// coordinator keeps of one has a bound: 150 of 1.5 MiB would be more than its memory.
func TestWhatIsKeptOfAStatefulSetIsBounded(t *testing.T) {
	values := []string{"x"}
	for i := range 20_000 {
		values = append(values, fmt.Sprintf("%063d", i))
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "s", Labels: map[string]string{v1alpha1.LabelCluster: "none"}}}
	large(&set.ObjectMeta, &set.Spec.Template.Spec)
	set.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: values}}}
	set.Spec.Template.Labels = map[string]string{"a": "x"}
	for i := range 20_000 {
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}})
	}
	require.Less(t, kept(reflect.ValueOf(*poolOf(set))), 32<<10)
}

// A pod says itself what owns it.
func TestWhatIsKeptOfAPodIsBounded(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "s-0",
		OwnerReferences: []metav1.OwnerReference{{UID: "s", Controller: new(true)}}, Labels: map[string]string{}}}
	large(&pod.ObjectMeta, &pod.Spec)
	for i := range 20_000 {
		pod.Labels[fmt.Sprint(i)] = "x"
	}
	p := podOf(pod, Pool{Name: "s", UID: "s"})
	require.Less(t, kept(reflect.ValueOf(*p)), 32<<10)
	require.True(t, p.ManyLabels)
	pod.Annotations[v1alpha1.AnnotationContainer] = strings.Repeat("x", 1<<19)
	require.Less(t, kept(reflect.ValueOf(*podOf(pod, Pool{Name: "s", UID: "s"}))), 32<<10)
}

// Texts that differ beyond what is kept of them still differ.
func TestBoundedTextsDiffer(t *testing.T) {
	long := strings.Repeat("x", maxTogether)
	require.Equal(t, long, bounded(long, maxTogether))
	a, b := bounded(long+"a", maxTogether), bounded(long+"b", maxTogether)
	require.Len(t, a, maxTogether)
	require.NotEqual(t, a, b)
	template := Shape{Security: a}
	require.False(t, Shape{Security: a}.OtherOwner(template))
	require.True(t, Shape{Security: b}.OtherOwner(template))
}

// One DatabaseCluster and thousands of StatefulSets without pods are a few megabytes for the
// API server. A watch for each is far more for each coordinator.
func TestManyPoolsAreNotAWatchEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.addCluster(t, search)
		name := func(i int) string { return fmt.Sprint("s", i) }
		add := func(i int) {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: search.Namespace, Name: name(i), UID: types.UID(fmt.Sprint("u", i)), Labels: map[string]string{v1alpha1.LabelCluster: search.Name},
			}}
			set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": fmt.Sprint(i)}}
			w.addSet(t, set)
			synctest.Wait() // the fake's watch has room for a hundred
		}
		for i := range MaxPools {
			add(i)
		}
		time.Sleep(time.Minute)
		_, ok := w.Cluster(search)
		require.True(t, ok)
		require.Empty(t, w.Missing(search))
		for i := range 300 {
			add(MaxPools + i)
		}
		time.Sleep(time.Minute)
		require.LessOrEqual(t, w.watching("pods"), MaxPools)
		require.Empty(t, w.watches())
		require.True(t, w.Synced(), "others have a coordinator")
		_, ok = w.Cluster(search)
		require.False(t, ok)
		require.Equal(t, "it has 556 StatefulSets, and Rollcall follows at most 256 of one DatabaseCluster: take the label rollcall.dev/cluster off those that are not of this database", w.Missing(search))
		for i := range 300 {
			require.NoError(t, w.kubernetes.AppsV1().StatefulSets(search.Namespace).Delete(t.Context(), name(MaxPools+i), metav1.DeleteOptions{}))
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		_, ok = w.Cluster(search)
		require.True(t, ok, "once there are fewer, all is as before")
	})
}
