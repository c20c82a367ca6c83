package trust

import (
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
)

// Between the change and the end of a connection each call is judged by itself.
func TestEachCallIsJudgedByTheAuthoritiesOfNow(t *testing.T) {
	authority, next := agenttest.NewAuthority(t), agenttest.NewAuthority(t)
	var k Keys
	name := config.ServerName("prod", "search")
	for _, c := range []struct {
		trusted *agenttest.Authority
		counts  bool
	}{{authority, true}, {next, false}, {authority, true}} {
		own := c.trusted.Agent(name, name)
		k.Set(&own.Certificates[0], own.RootCAs, name)
		leaf, err := x509.ParseCertificate(authority.Client(name, config.RoleCoordinator).Certificates[0].Certificate[0])
		require.NoError(t, err)
		require.Equal(t, c.counts, k.Refuses([]*x509.Certificate{leaf}) == nil)
	}
	require.Error(t, k.Refuses(nil))
	require.Error(t, new(Keys).Refuses(nil))
}
