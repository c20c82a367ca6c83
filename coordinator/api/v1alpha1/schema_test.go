package v1alpha1

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Cases of testdata/accepted and testdata/refused are for the schema of the
// custom resource, which only an API server checks. The first line of a
// refused one says what the message must contain.

func cases(t *testing.T, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	out := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		out[strings.TrimSuffix(filepath.Base(path), ".yaml")] = string(text)
	}
	return out
}

// Every field of an accepted case has a Go field, and comes out as it went in.
func TestAcceptedAreUnderstood(t *testing.T) {
	for name, text := range cases(t, "accepted") {
		t.Run(name, func(t *testing.T) {
			var cluster DatabaseCluster
			require.NoError(t, yaml.UnmarshalStrict([]byte(text), &cluster))
			require.Equal(t, name, cluster.Name)
			written, err := yaml.Marshal(cluster)
			require.NoError(t, err)
			var again DatabaseCluster
			require.NoError(t, yaml.UnmarshalStrict(written, &again))
			rewritten, err := yaml.Marshal(again)
			require.NoError(t, err)
			require.Equal(t, string(written), string(rewritten))
			require.Equal(t, cluster, *cluster.DeepCopy())
		})
	}
}

// TestSchemaOnServer needs an API server that has the definition installed:
// ROLLCALL_SCHEMA_KUBECONFIG is how to reach it.
func TestSchemaOnServer(t *testing.T) {
	kubeconfig := os.Getenv("ROLLCALL_SCHEMA_KUBECONFIG")
	if kubeconfig == "" {
		t.Skip("ROLLCALL_SCHEMA_KUBECONFIG is not set: the schema is not tried on an API server")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	client, err := NewForConfig(config)
	require.NoError(t, err)
	clusters := client.DatabaseClusters("default")
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	// The text itself is sent: a Go value could not hold what must be refused.
	create := func(text string) error {
		body, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		return client.rest.Post().Namespace("default").Resource(Resource).
			VersionedParams(&dryRun, parameterCodec).Body(body).Do(t.Context()).Error()
	}

	for name, text := range cases(t, "accepted") {
		t.Run(name, func(t *testing.T) { require.NoError(t, create(text)) })
	}
	for name, text := range cases(t, "refused") {
		t.Run(name, func(t *testing.T) {
			want, ok := strings.CutPrefix(strings.SplitN(text, "\n", 2)[0], "# want: ")
			require.True(t, ok, "the first line must say what is wanted")
			err := create(text)
			require.ErrorContains(t, err, want)
			require.True(t, apierrors.IsInvalid(err), "%v", err)
		})
	}

	t.Run("defaults", func(t *testing.T) {
		least := &DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: "least"}, Spec: model.Spec{Engine: model.Solr}}
		made, err := clusters.Create(t.Context(), least, dryRun)
		require.NoError(t, err)
		require.Equal(t, least.Spec.WithDefaults(), made.Spec.WithDefaults())
		require.Equal(t, model.GuardEnforce, made.Spec.Guard)
		require.Nil(t, made.Spec.Policy.MaxUnavailable, "that depends on the engine, which is the program's to know")
	})

	t.Run("status", func(t *testing.T) {
		name := fmt.Sprintf("status-%d", time.Now().UnixNano())
		made, err := clusters.Create(t.Context(), &DatabaseCluster{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: model.Spec{Engine: model.Solr},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		defer func() { require.NoError(t, clusters.Delete(t.Context(), name, metav1.DeleteOptions{})) }()
		stale := made.DeepCopy()
		made.Status = fullStatus()
		written, err := clusters.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Equal(t, fullStatus(), written.Status, "nothing of the status is lost")
		_, err = clusters.UpdateStatus(t.Context(), stale, metav1.UpdateOptions{})
		require.True(t, apierrors.IsConflict(err), "%v", err)
	})
}

// fullStatus has every field set.
func fullStatus() Status {
	at := model.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	return Status{
		ObservedGeneration: 7,
		Phase:              model.ClusterRolling,
		Conditions: []Condition{{
			Type: ConditionReady, Status: metav1.ConditionFalse, Reason: "pod-budget", Message: "1 of 1 is unavailable",
			LastTransitionTime: metav1.NewTime(at.Local()), ObservedGeneration: 7,
		}},
		Epoch: 12,
		Claims: []model.Claim{{
			ID: "c1", Pod: "search-5", UID: "u5", Action: model.ActionRestart, Reason: model.ReasonOutdated,
			Prepare: model.PrepareHandoff, From: "v1", To: "v2", Epoch: 12, Phase: model.PhaseDrained, StartedAt: at,
			PodResourceVersion: "99", Groups: map[string]int32{"books/s1": 2}, Undo: []byte{0, 1, 255}, Zone: "z1",
		}},
		Approvals:           []model.Approval{{Revision: "v2", What: model.ApprovedAdopt, By: "ada", At: at}},
		ClusterSettings:     []model.ClusterSetting{{Name: "allocation", Undo: []byte("all"), Claims: []string{"c1"}}},
		PendingRestores:     []model.PendingRestore{{Claim: "c0", Pod: "search-3", Undo: []byte("undo")}},
		LastFinished:        []FinishedRollout{{Pool: "search", Revision: "v1", Version: "9.9.0"}},
		Pods:                model.PodCounts{Desired: 6, Current: 4, Updated: 2, Ready: 6, Away: 0, Failed: 0},
		LastTransition:      at,
		LastProgress:        at,
		LastDeparture:       at,
		EstimateSeconds:     60,
		PoolEstimateSeconds: map[string]int64{"search": 60},
		UpdateRevisions:     map[string]string{"search": "v2"},
		Holds:               []model.Hold{{Pod: "search-4", Rule: model.Rule("pod-budget"), Reason: "1 of 1 is unavailable", Unblocks: "search-5 back"}},
		MoreHolds:           3,
	}
}

func TestStatusRoundTrip(t *testing.T) {
	want := fullStatus()
	text, err := yaml.Marshal(want)
	require.NoError(t, err)
	var got Status
	require.NoError(t, yaml.UnmarshalStrict(text, &got))
	require.Equal(t, want, got)
	require.Equal(t, want, *want.DeepCopy())

	empty, err := yaml.Marshal(Status{})
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(empty), "an empty status says nothing, and no times of year one")
}
