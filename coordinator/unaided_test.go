package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func TestUnaidedTakesNoCredentials(t *testing.T) {
	plain := policy.Spec{Engine: policy.Solr}
	engine, err := plainEngine(plain, "10.0.0.1")
	require.NoError(t, err)
	require.NoError(t, engine.Close())

	for name, change := range map[string]func(*policy.Spec){
		"password": func(s *policy.Spec) { s.Connection.CredentialsSecret = "solr-auth" },
		"tls":      func(s *policy.Spec) { s.Connection.TLS.Enabled = true },
		"https":    func(s *policy.Spec) { s.Connection.Scheme = "https" },
	} {
		spec := plain
		change(&spec)
		_, err := plainEngine(spec, "10.0.0.1")
		require.ErrorIs(t, err, errNotUnaided, name)
	}
	_, err = plainEngine(policy.Spec{Engine: policy.MySQL}, "10.0.0.1")
	require.ErrorContains(t, err, "MySQL is not supported")
}

func TestAddressIsThatOfTheVeryPod(t *testing.T) {
	objects := kube.ClusterObjects{Pods: []kube.Pod{{Name: "s-0", UID: "old", IP: "10.0.0.1"}, {Name: "s-1", UID: "b", IP: "10.0.0.2"}}}
	require.Equal(t, "10.0.0.2", addressOf(objects, "b"))
	require.Empty(t, addressOf(objects, "new"))
}
