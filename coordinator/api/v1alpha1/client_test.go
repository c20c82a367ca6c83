package v1alpha1

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Where requests go, in which form, and that answers are read.
func TestClientSpeaksToTheResource(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path)
		if r.Header.Get("Accept") != "application/json" {
			t.Errorf("Accept is %q", r.Header.Get("Accept"))
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/apis/rollcall.dev/v1alpha1/databaseclusters" {
			_, _ = w.Write([]byte(`{"kind":"DatabaseClusterList","apiVersion":"rollcall.dev/v1alpha1","items":[{"metadata":{"name":"search"}}]}`))
			return
		}
		_, _ = w.Write([]byte(`{"kind":"DatabaseCluster","apiVersion":"rollcall.dev/v1alpha1","metadata":{"name":"search"},"spec":{"engine":"Solr"}}`))
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	client, err := NewForConfig(config)
	require.NoError(t, err)
	require.Equal(t, &rest.Config{Host: server.URL}, config, "the configuration that was given is not changed")

	got, err := client.DatabaseClusters("prod").Get(t.Context(), "search", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, "Solr", got.Spec.Engine)
	_, err = client.DatabaseClusters("prod").UpdateStatus(t.Context(), got, metav1.UpdateOptions{})
	require.NoError(t, err)
	list, err := client.DatabaseClusters("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "search", list.Items[0].Name)
	require.Equal(t, []string{
		"GET /apis/rollcall.dev/v1alpha1/namespaces/prod/databaseclusters/search",
		"PUT /apis/rollcall.dev/v1alpha1/namespaces/prod/databaseclusters/search/status",
		"GET /apis/rollcall.dev/v1alpha1/databaseclusters",
	}, seen)

	_, err = NewForConfig(&rest.Config{Host: "http://%zz"})
	require.Error(t, err)
}
