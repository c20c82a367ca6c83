package sidecar

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	clustersfake "github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1/fake"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

const oldImage, newImage = "example/agent:0.1.3", "example/agent:0.2.0"

// world is three pods and a kubelet that restarts a sidecar two seconds after
// its image was changed.
type world struct {
	t        *testing.T
	client   *fake.Clientset
	clusters *clustersfake.Clients
	said     []string
	running  int // agents that are being restarted
	most     int
	broken   string // an image that does not start
}

func newWorld(t *testing.T, images ...string) *world {
	w := &world{t: t}
	var objects []runtime.Object
	for i, image := range images {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "prod", Name: fmt.Sprintf("search-%d", i), UID: types.UID(fmt.Sprint("u", i)), ResourceVersion: "7",
				Labels: map[string]string{v1alpha1.LabelCluster: "search"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db:1"}}},
		}
		if image != "" {
			p.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "init:1"}, {Name: v1alpha1.AgentContainer, Image: image}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
				Name: v1alpha1.AgentContainer, Ready: true, ContainerID: "c1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}}
		}
		objects = append(objects, p)
	}
	w.client = fake.NewClientset(objects...)
	w.client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		var body struct {
			Metadata struct{ UID, ResourceVersion string }
		}
		require.NoError(t, json.Unmarshal(patch.GetPatch(), &body))
		require.NotEmpty(t, body.Metadata.UID)
		require.NotEmpty(t, body.Metadata.ResourceVersion)
		go w.restart(patch.GetName())
		return false, nil, nil
	})
	w.clusters = clustersfake.New(&v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search"}})
	return w
}

// restart is the kubelet's work. The patch has been stored when it looks.
func (w *world) restart(name string) {
	w.running++
	w.most = max(w.most, w.running)
	time.Sleep(2 * time.Second)
	w.running--
	pod, err := w.client.CoreV1().Pods("prod").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	st := &pod.Status.InitContainerStatuses[0]
	st.RestartCount++
	st.ContainerID = fmt.Sprint("c", st.RestartCount+1)
	if kube.AgentOf(&pod.Spec).Image == w.broken {
		st.Ready, st.State = false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	} else {
		st.Ready, st.State = true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	}
	_, err = w.client.CoreV1().Pods("prod").UpdateStatus(context.Background(), pod, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (w *world) upgrade(image string) *Upgrade {
	return &Upgrade{
		Kubernetes: w.client, Clusters: w.clusters, Namespace: "prod", Name: "search", Image: image, Timeout: time.Minute,
		Say: func(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) },
	}
}

func (w *world) images() (list []string) {
	pods, err := w.client.CoreV1().Pods("prod").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range pods.Items {
		if c := kube.AgentOf(&pods.Items[i].Spec); c != nil {
			list = append(list, c.Image)
		}
	}
	return list
}

func TestOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oldImage, newImage, "", oldImage)
		results, err := w.upgrade(newImage).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []Result{
			{Pod: "search-3", From: oldImage, Done: Upgraded},
			{Pod: "search-2", Done: NoAgent},
			{Pod: "search-1", From: newImage, Done: Current},
			{Pod: "search-0", From: oldImage, Done: Upgraded},
		}, results)
		require.Equal(t, 1, w.most)
		require.Equal(t, []string{newImage, newImage, newImage}, w.images())
		require.Contains(t, strings.Join(w.said, "\n"), "search-3 (1 of 4): its agent runs after ")
	})
}

// The first that does not come back ends it, with the image that it had.
func TestABrokenImageIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oldImage, oldImage)
		w.broken = newImage
		results, err := w.upgrade(newImage).Run(t.Context())
		require.ErrorContains(t, err, "pod search-1: the agent did not come back: it waits: ImagePullBackOff")
		require.Empty(t, results)
		require.Equal(t, []string{oldImage, oldImage}, w.images())
		synctest.Wait()
		time.Sleep(3 * time.Second)
	})
}

func TestVersionsTooFarApartAreRefusedBeforeAnythingIsTouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oldImage, "example/agent:0.2.9")
		_, err := w.upgrade("example/agent:0.3.0").Run(t.Context())
		require.ErrorContains(t, err, "pod search-0: agents of version 0.1.3 and 0.3.0 do not work together")
		require.Equal(t, []string{oldImage, "example/agent:0.2.9"}, w.images())
	})
}

func TestAClaimedPodIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oldImage)
		clusters := w.clusters.DatabaseClusters("prod")
		claim := func(claims ...model.Claim) {
			c, err := clusters.Get(t.Context(), "search", metav1.GetOptions{})
			require.NoError(t, err)
			c.Status.Claims = claims
			_, err = clusters.UpdateStatus(t.Context(), c, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		claim(model.Claim{ID: "1", Pod: "search-0", Phase: model.PhaseDraining})
		began := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			claim()
		}()
		_, err := w.upgrade(newImage).Run(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(began), 12*time.Second)
		require.Contains(t, w.said[0], "waiting, it is claimed (Draining)")
	})
}

func TestDryRunTouchesNothing(t *testing.T) {
	w := newWorld(t, oldImage)
	u := w.upgrade(newImage)
	u.DryRun = true
	results, err := u.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Result{{Pod: "search-0", From: oldImage, Done: Planned}}, results)
	require.Equal(t, []string{oldImage}, w.images())
}

func TestNoPods(t *testing.T) {
	_, err := newWorld(t).upgrade(newImage).Run(t.Context())
	require.ErrorContains(t, err, "no pod in namespace prod has the label rollcall.dev/cluster=search")
}

func TestFarApart(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"a:0.1.0", "a:0.2.7", true},
		{"a:v1.4.0", "b.example:5000/x/a:v1.3.0@sha256:00", true},
		{"a:0.1.0", "a:0.3.0", false},
		{"a:1.9.0", "a:2.0.0", false},
		{"a:dev", "a:0.3.0", true},        // no version to compare
		{"b.example:5000/a", "a:3", true}, // a port is no tag
		{"a@sha256:00", "a:9.0.0", true},
	} {
		err := farApart(c.from, c.to)
		require.Equal(t, c.ok, err == nil, "%s to %s: %v", c.from, c.to, err)
	}
}
