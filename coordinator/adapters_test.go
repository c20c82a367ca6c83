package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func TestUnaidedTakesNoCredentials(t *testing.T) {
	for _, supported := range []policy.Engine{policy.Solr, policy.OpenSearch} {
		plain := policy.Spec{Engine: supported}
		engine, err := plainAdapter(plain, "10.0.0.1")
		require.NoError(t, err)
		require.EqualValues(t, supported, engine.Facts().Name)
		require.NoError(t, engine.Close())

		for name, change := range map[string]func(*policy.Spec){
			"password": func(s *policy.Spec) { s.Connection.CredentialsSecret = "auth" },
			"tls":      func(s *policy.Spec) { s.Connection.TLS.Enabled = true },
			"https":    func(s *policy.Spec) { s.Connection.Scheme = "https" },
		} {
			spec := plain
			change(&spec)
			_, err := plainAdapter(spec, "10.0.0.1")
			require.ErrorIs(t, err, errNotUnaided, name)
		}
	}
	for _, together := range []policy.Engine{policy.MySQL, policy.MariaDB, policy.FoundationDB} {
		_, err := plainAdapter(policy.Spec{Engine: together}, "10.0.0.1")
		require.ErrorIs(t, err, errNotUnaided)
	}
	_, err := plainAdapter(policy.Spec{Engine: "Other"}, "10.0.0.1")
	require.ErrorContains(t, err, "Other is not supported")
}

func TestFactsAreThoseOfTheAdapter(t *testing.T) {
	for _, supported := range []policy.Engine{policy.Solr, policy.OpenSearch} {
		facts := engineFacts(supported)
		require.EqualValues(t, supported, facts.Name)
		require.Positive(t, policyFacts(facts).SettleSeconds)
		require.Equal(t, 1, policyFacts(facts).MaxMajorStep)
	}
	require.Equal(t, "2.19.0", engineFacts(policy.OpenSearch).MinSource[3])
	for _, sql := range []policy.Engine{policy.MySQL, policy.MariaDB} {
		require.EqualValues(t, sql, engineFacts(sql).Name)
		require.Positive(t, policyFacts(engineFacts(sql)).SettleSeconds)
	}
	require.Equal(t, "8.4.0", engineFacts(policy.MySQL).MinSource[9])
	require.Zero(t, engineFacts(policy.MariaDB).MaxMajorStep, "any step")
	require.EqualValues(t, policy.FoundationDB, engineFacts(policy.FoundationDB).Name)
	require.EqualValues(t, 60, policyFacts(engineFacts(policy.FoundationDB)).SettleSeconds)
	require.True(t, policyFacts(engineFacts(policy.FoundationDB)).SameMinor)
	require.False(t, policyFacts(engineFacts(policy.MySQL)).SameMinor)
	require.Equal(t, 1, engineFacts("Other").MaxMajorStep, "nothing is known of it: the least")
}
