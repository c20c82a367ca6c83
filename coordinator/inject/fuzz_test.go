package inject

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/test/race"
)

// Whoever reaches the port can send anything; a pod is always let in, and nothing takes
// more memory than was reckoned before it was decoded.
func FuzzReview(f *testing.F) {
	for _, object := range []string{
		`{"metadata":{"name":"a","labels":{"` + v1alpha1.LabelCluster + `":"search"}},"spec":{"containers":[{"name":"solr","image":"solr"}]}}`,
		`{"metadata":{"labels":{"` + v1alpha1.LabelCluster + `":"search"}}}`, `{"metadata":{}}`, `[]`, `{"spec":{"containers":1}}`,
	} {
		f.Add([]byte(`{"request":{"uid":"u","namespace":"prod","operation":"CREATE","resource":{"version":"v1","resource":"pods"},"object":` + object + `}}`))
	}
	for _, n := range []int{1, 100} {
		for _, body := range dense(n) {
			f.Add(body)
		}
	}
	f.Add([]byte(`{}`))
	f.Add(bytes.Repeat([]byte(`{"request":{"object":`), 5_000))
	cluster := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search", UID: "uid"}}
	h, err := NewWebhook(WebhookOptions{
		Image: "example.com/agent:1", Registerer: prometheus.NewPedanticRegistry(), Logger: slog.New(slog.DiscardHandler),
		Lookup: func(string, string) (*v1alpha1.DatabaseCluster, bool) { return cluster, true },
		token:  func() string { return "token" },
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		took, answer := allocated(h, body)
		if seen, _ := lookAt(body); took > int64(seen.weight()) && !race.Enabled {
			t.Fatalf("%d allocated, and %d were reckoned for %q", took, seen.weight(), body)
		}
		if answer.Code == http.StatusBadRequest || answer.Code == http.StatusRequestEntityTooLarge {
			return
		}
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil || review.Response == nil || !review.Response.Allowed {
			t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
		}
		if patch := review.Response.Patch; patch != nil && !json.Valid(patch) {
			t.Fatalf("%s", patch)
		}
	})
}
