package coordinator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestHandoffWithoutAgentsTakesNoCredentials(t *testing.T) {
	for _, supported := range []model.Engine{model.Solr, model.OpenSearch} {
		plain := model.Spec{Engine: supported}
		engine, err := plainAdapter(plain, "10.0.0.1")
		require.NoError(t, err)
		require.EqualValues(t, supported, engine.Facts().Name)
		require.NoError(t, engine.Close())

		for name, change := range map[string]func(*model.Spec){
			"password": func(s *model.Spec) { s.Connection.CredentialsSecret = "auth" },
			"tls":      func(s *model.Spec) { s.Connection.TLS.Enabled = true },
			"https":    func(s *model.Spec) { s.Connection.Scheme = "https" },
		} {
			spec := plain
			change(&spec)
			_, err := plainAdapter(spec, "10.0.0.1")
			require.ErrorIs(t, err, errNoHandoffWithoutAgents, name)
		}
	}
	for _, together := range []model.Engine{model.MySQL, model.MariaDB, model.FoundationDB, model.Galera} {
		_, err := plainAdapter(model.Spec{Engine: together}, "10.0.0.1")
		require.ErrorIs(t, err, errNoHandoffWithoutAgents)
	}
	_, err := plainAdapter(model.Spec{Engine: "Other"}, "10.0.0.1")
	require.ErrorContains(t, err, "Other is not supported")
}

func TestFactsAreThoseOfTheAdapter(t *testing.T) {
	for _, supported := range []model.Engine{model.Solr, model.OpenSearch} {
		facts := engineFacts(supported)
		require.EqualValues(t, supported, facts.Name)
		require.Positive(t, policyFacts(facts).SettleSeconds)
		require.Equal(t, 1, policyFacts(facts).MaxMajorStep)
	}
	require.Equal(t, "2.19.0", engineFacts(model.OpenSearch).MinSource[3])
	for _, sql := range []model.Engine{model.MySQL, model.MariaDB} {
		require.EqualValues(t, sql, engineFacts(sql).Name)
		require.Positive(t, FactsOf(sql).SettleSeconds)
	}
	require.Equal(t, "8.4.0", engineFacts(model.MySQL).MinSource[9])
	require.Zero(t, engineFacts(model.MariaDB).MaxMajorStep, "any step")
	require.EqualValues(t, model.Galera, engineFacts(model.Galera).Name)
	require.EqualValues(t, 15, FactsOf(model.Galera).SettleSeconds)
	require.True(t, FactsOf(model.Galera).OneAtATime)
	require.Zero(t, engineFacts(model.Galera).MaxMajorStep, "any step, as MariaDB")
	require.EqualValues(t, model.FoundationDB, engineFacts(model.FoundationDB).Name)
	require.EqualValues(t, 60, FactsOf(model.FoundationDB).SettleSeconds)
	require.True(t, FactsOf(model.FoundationDB).SameMinor)
	require.False(t, FactsOf(model.MySQL).SameMinor)
	require.True(t, FactsOf(model.OpenSearch).OneAtATime)
	require.True(t, FactsOf(model.FoundationDB).ByZone)
	require.True(t, engineFacts(model.FoundationDB).Replaced)
	require.Equal(t, 1, engineFacts("Other").MaxMajorStep, "nothing is known of it: the least")
}

// Snapshots that were saved before the facts told what once followed from the name of the
// engine are decided as if they did.
func TestSnapshotsOfBeforeHaveTheFacts(t *testing.T) {
	for _, engine := range model.Engines() {
		s, err := model.Decode(fmt.Appendf(nil, `{"version":1,"cluster":{"spec":{"engine":%q}}}`, engine))
		require.NoError(t, err)
		facts := FactsOf(engine)
		require.Equal(t, facts.OneAtATime, s.Cluster.Engine.OneAtATime, engine)
		require.Equal(t, facts.ByZone, s.Cluster.Engine.ByZone, engine)
		require.Equal(t, facts.DataRoles, s.Cluster.Engine.DataRoles, engine)
	}
}
