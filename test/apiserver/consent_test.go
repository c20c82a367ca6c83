package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// With its real token a coordinator sees what a Secret allows, says what it does not, and
// agents are told so: a DatabaseCluster alone gets neither a password nor a connection.
func TestConsentOfARealSecret(t *testing.T) {
	s, admin := installed(t)
	s.Apply(guarded + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: password, namespace: prod}\nstringData: {username: rollcall, password: secret}\n")
	withPod(t, admin, "prod")
	clusters, err := v1alpha1.NewForConfig(s.Admin)
	require.NoError(t, err)
	patch := `{"spec":{"connection":{"credentialsSecret":"password","host":"db.example"}}}`
	_, err = clusters.DatabaseClusters("prod").Patch(t.Context(), "db", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	w := &work{t: t, server: s, admin: admin, clusters: clusters}
	w.build()
	stop := w.coordinator()

	told := func(ctx context.Context) (file config.File, condition v1alpha1.Condition, err error) {
		secret, err := admin.CoreV1().Secrets("prod").Get(ctx, "db-rollcall", metav1.GetOptions{})
		if err != nil {
			return file, condition, err
		}
		cluster, err := clusters.DatabaseClusters("prod").Get(ctx, "db", metav1.GetOptions{})
		if err != nil {
			return file, condition, err
		}
		for _, c := range cluster.Status.Conditions {
			if c.Type == v1alpha1.ConditionWithheld {
				condition = c
			}
		}
		return file, condition, json.Unmarshal(secret.Data[config.KeyConfig], &file)
	}
	const label, annotate = "kubectl -n prod label secret password rollcall.dev/cluster=db", "kubectl -n prod annotate secret password rollcall.dev/allow-hosts=db.example"
	eventually(t, "a refusal", func(ctx context.Context) error {
		file, condition, err := told(ctx)
		if err == nil && (condition.Status != metav1.ConditionTrue || !strings.Contains(condition.Message, label) || !strings.Contains(condition.Message, annotate) ||
			file.Withheld("password") == "" || file.Connection.Host != "") {
			err = fmt.Errorf("%+v %+v", file, condition)
		}
		return err
	})
	_, err = admin.CoreV1().Secrets("prod").Patch(t.Context(), "password", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"rollcall.dev/cluster":"db"},"annotations":{"rollcall.dev/allow-hosts":"db.example"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, "the consent to be seen", func(ctx context.Context) error {
		file, condition, err := told(ctx)
		if err == nil && (condition.Status != metav1.ConditionFalse || file.Withheld("password") != "" || file.Connection.Host != "db.example") {
			err = fmt.Errorf("%+v %+v", file, condition)
		}
		return err
	})
	stop()
}
