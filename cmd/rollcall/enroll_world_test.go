package main

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

const secretsPath = "/api/v1/namespaces/prod/secrets/"

// enrollWorld is a world in which StatefulSets can be patched and a DatabaseCluster be made.
type enrollWorld struct {
	*world
	sets map[string]*appsv1.StatefulSet
	made *v1alpha1.DatabaseCluster
	// writes that the API server was asked for, in order; the dry ones begin with "dry ".
	writes []string
	// denied is the write that is refused.
	denied string
	// forbidden means that the user may not create pods; admits is what the API server does with one in
	// a dry run.
	forbidden bool
	admits    func(*corev1.Pod) (*corev1.Pod, error)
	// coordinate is what the coordinator makes of the DatabaseCluster.
	coordinate func(*v1alpha1.DatabaseCluster)
}

func newEnrollWorld(t *testing.T, d status.Decision, sets ...*appsv1.StatefulSet) *enrollWorld {
	e := &enrollWorld{world: newWorld(t, d), sets: map[string]*appsv1.StatefulSet{}, coordinate: initialized, admits: injected}
	for _, s := range sets {
		e.sets[s.Name] = s
	}
	e.objects["/version"] = apiversion.Info{GitVersion: "v1.34.1"}
	for path, list := range map[string]any{
		"/api/v1/namespaces/prod/pods": corev1.PodList{}, "/api/v1/nodes": corev1.NodeList{}, "/api/v1/namespaces/prod/services": corev1.ServiceList{}, "/api/v1/namespaces/rollcall-system": corev1.Namespace{},
		"/apis/policy/v1/namespaces/prod/poddisruptionbudgets": map[string]any{}, "/apis/networking.k8s.io/v1/namespaces/prod/networkpolicies": map[string]any{},
		"/api/v1/namespaces/kube-system/serviceaccounts/generic-garbage-collector": corev1.ServiceAccount{},
		"/api/v1/namespaces/prod/resourcequotas":                                   corev1.ResourceQuotaList{},
		listPath:                                                                   v1alpha1.DatabaseClusterList{},
	} {
		e.objects[path] = list
	}
	e.serving = e.store
	e.show()
	return e
}

// solr is a StatefulSet as a chart has it.
func solr(name string, changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	three, grace := int32(3), int64(300)
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", UID: "s1"}}
	s.Spec.Replicas, s.Spec.PodManagementPolicy = &three, appsv1.ParallelPodManagement
	s.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	s.Spec.Template.Spec = corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace,
		TopologySpreadConstraints:     []corev1.TopologySpreadConstraint{{MaxSkew: 1}},
		Containers: []corev1.Container{{Name: "db", Image: "docker.io/library/solr:9.10", ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}},
		}}},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// initialized is what a coordinator says that has seen all and guards it.
func initialized(c *v1alpha1.DatabaseCluster) {
	c.Status.ObservedGeneration, c.Status.Phase = c.Generation, "Done"
	c.Status.UpdateRevisions = map[string]string{"search": "v1"}
	c.Status.Conditions = []v1alpha1.Condition{{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue}}
}

// show has what there is among the objects.
func (e *enrollWorld) show() {
	var list appsv1.StatefulSetList
	for _, s := range e.sets {
		list.Items = append(list.Items, *s)
		e.objects[setsPath+"/"+s.Name] = s
	}
	slices.SortFunc(list.Items, func(a, b appsv1.StatefulSet) int { return strings.Compare(a.Name, b.Name) })
	e.objects[setsPath] = list
	if e.made != nil {
		e.objects[listPath+"/"+e.made.Name] = e.made
		e.objects[listPath] = v1alpha1.DatabaseClusterList{Items: []v1alpha1.DatabaseCluster{*e.made}}
	}
}

// injected is what the webhook makes of a pod.
func injected(pod *corev1.Pod) (*corev1.Pod, error) {
	with, _, err := inject.Pod(pod, inject.Options{Image: "agent:1", KeepPreStop: true})
	return with, err
}

// tries answers what is asked of a pod that is not made.
func (e *enrollWorld) tries(rw http.ResponseWriter, r *http.Request) bool {
	reviews, pods := strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"), r.URL.Path == "/api/v1/namespaces/prod/pods"
	if r.Method != http.MethodPost || !reviews && !pods {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if reviews {
		return json.NewEncoder(rw).Encode(authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: !e.forbidden}}) == nil
	}
	require.Equal(e.t, "All", r.URL.Query().Get("dryRun"))
	body, err := io.ReadAll(r.Body)
	require.NoError(e.t, err)
	object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), body) // of whatever format
	require.NoError(e.t, err)
	pod := object.(*corev1.Pod)
	made, err := e.admits(pod)
	if err != nil {
		answer(rw, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name, err).Status())
		return true
	}
	return json.NewEncoder(rw).Encode(made) == nil
}

// store does what is written.
func (e *enrollWorld) store(rw http.ResponseWriter, r *http.Request) bool {
	if e.tries(rw, r) {
		return true
	}
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	patches := r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, setsPath+"/")
	labels := r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, secretsPath)
	if !patches && !labels && (r.Method != http.MethodPost || r.URL.Path != listPath) {
		return false
	}
	body, err := io.ReadAll(r.Body)
	require.NoError(e.t, err)
	dry := r.URL.Query().Get("dryRun") != ""
	require.Equal(e.t, "rollcall", r.URL.Query().Get("fieldManager"))
	e.mu.Lock()
	defer e.mu.Unlock()
	write := map[bool]string{true: "dry "}[dry] + r.Method + " " + name
	e.writes = append(e.writes, write)
	if write == e.denied {
		answer(rw, apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, name, io.ErrNoProgress).Status())
		return true
	}
	if labels {
		was, err := json.Marshal(e.objects[r.URL.Path])
		require.NoError(e.t, err)
		is, err := jsonpatch.MergePatch(was, body)
		require.NoError(e.t, err)
		var secret corev1.Secret
		require.NoError(e.t, json.Unmarshal(is, &secret))
		if !dry {
			e.objects[r.URL.Path] = &secret
		}
		return json.NewEncoder(rw).Encode(secret) == nil
	}
	if patches {
		var at struct {
			Metadata struct{ ResourceVersion string }
		}
		require.NoError(e.t, json.Unmarshal(body, &at))
		if at.Metadata.ResourceVersion != e.sets[name].ResourceVersion {
			answer(rw, apierrors.NewConflict(schema.GroupResource{Resource: "statefulsets"}, name, io.ErrNoProgress).Status())
			return true
		}
		was, err := json.Marshal(e.sets[name])
		require.NoError(e.t, err)
		is, err := jsonpatch.MergePatch(was, body)
		require.NoError(e.t, err)
		var set appsv1.StatefulSet
		require.NoError(e.t, json.Unmarshal(is, &set))
		require.Equal(e.t, e.sets[name].UID, set.UID)
		if !dry {
			set.ResourceVersion += "1"
			e.sets[name] = &set
		}
		e.show()
		return json.NewEncoder(rw).Encode(set) == nil
	}
	var c v1alpha1.DatabaseCluster
	require.NoError(e.t, json.Unmarshal(body, &c))
	c.UID, c.Generation = "c1", 1
	if !dry {
		e.coordinate(&c)
		e.made = &c
	}
	e.show()
	return json.NewEncoder(rw).Encode(c) == nil
}
