package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
)

func pemBlock(kind, text string) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(text)})
}

func trusts(a Authority, pair Pair, now time.Time) error {
	_, err := pair.cert.Verify(x509.VerifyOptions{
		Roots: a.Pool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}

// handshake connects a client to a server and says what the client and the
// server made of it.
func handshake(t *testing.T, client, server *tls.Config) (clientErr, serverErr error) {
	t.Helper()
	near, far := net.Pipe()
	deadline := time.Now().Add(time.Minute)
	require.NoError(t, near.SetDeadline(deadline))
	require.NoError(t, far.SetDeadline(deadline))
	done := make(chan error, 1)
	go func() {
		conn := tls.Server(far, server)
		err := conn.Handshake()
		if err == nil {
			_, err = conn.Write([]byte("x"))
		}
		far.Close()
		done <- err
	}()
	conn := tls.Client(near, client)
	clientErr = conn.Handshake()
	if clientErr == nil {
		// In TLS 1.3 the client learns of a refusal only when it reads.
		_, clientErr = conn.Read(make([]byte, 1))
	}
	near.Close()
	return clientErr, <-done
}

func TestHandshakes(t *testing.T) {
	now := time.Now()
	a, stranger := newAuthority(t, now), newAuthority(t, now)
	issue := func(a Authority, p Profile) tls.Certificate {
		pair, err := a.Issue(p, now)
		require.NoError(t, err)
		return pair.TLS()
	}
	agent := AgentProfile("prod", "search")
	coordinator := ClientProfile(config.RoleCoordinator)

	for name, c := range map[string]struct {
		client, server tls.Certificate
		dial           string
		wantClient     string
		wantServer     string
	}{
		"coordinator to agent":      {client: issue(a, coordinator), server: issue(a, agent), dial: config.ServerName("prod", "search")},
		"a name of cluster DNS":     {client: issue(a, coordinator), server: issue(a, agent), dial: "solr-0.solr.prod.svc.cluster.local", wantClient: "x509"},
		"the name of all agents":    {client: issue(a, coordinator), server: issue(a, agent), dial: AgentName},
		"through a tunnel":          {client: issue(a, coordinator), server: issue(a, agent), dial: "localhost"},
		"another cluster's agent":   {client: issue(a, coordinator), server: issue(a, agent), dial: config.ServerName("prod", "other"), wantClient: "x509"},
		"another namespace's agent": {client: issue(a, coordinator), server: issue(a, agent), dial: "solr-0.solr.test.svc", wantClient: "x509"},
		"a strange authority's agent": {
			client: issue(a, coordinator), server: issue(stranger, agent), dial: AgentName, wantClient: "unknown authority",
		},
		"a strange authority's client": {
			client: issue(stranger, coordinator), server: issue(a, agent), dial: AgentName, wantServer: "unknown authority",
		},
		"agent to agent":           {client: issue(a, agent), server: issue(a, agent), dial: config.ServerName("prod", "search")},
		"another cluster's agents": {client: issue(a, agent), server: issue(a, agent), dial: config.ServerName("prod", "other"), wantClient: "x509"},
		"a coordinator's server that asks": {
			client: issue(a, CoordinatorProfile("rollcall-system", "rollcall-coordinator")), server: issue(a, agent), dial: AgentName,
			wantServer: "incompatible key usage",
		},
		"a coordinator that poses as an agent": {
			client: issue(a, coordinator), server: issue(a, coordinator), dial: AgentName, wantClient: "x509",
		},
		"coordinator's own server": {
			client: issue(a, ClientProfile(config.RoleReader)),
			server: issue(a, CoordinatorProfile("rollcall-system", "rollcall-coordinator")),
			dial:   "rollcall-coordinator.rollcall-system.svc",
		},
	} {
		t.Run(name, func(t *testing.T) {
			clientErr, serverErr := handshake(t,
				&tls.Config{RootCAs: a.Pool(), ServerName: c.dial, Certificates: []tls.Certificate{c.client}},
				&tls.Config{ClientCAs: a.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, Certificates: []tls.Certificate{c.server}},
			)
			switch {
			case c.wantClient != "":
				require.ErrorContains(t, clientErr, c.wantClient)
			case c.wantServer != "":
				require.ErrorContains(t, serverErr, c.wantServer)
			default:
				require.NoError(t, clientErr)
				require.NoError(t, serverErr)
			}
		})
	}
}

func TestIssueRefusesMixedProfiles(t *testing.T) {
	a := newAuthority(t, epoch)
	for _, p := range []Profile{{}, {Role: "coordinator", DNSNames: []string{"x"}}, {Role: "reader", DNSNames: []string{"x"}}} {
		_, err := a.Issue(p, epoch)
		require.ErrorContains(t, err, "either for names of a server or for the role of a client")
	}
	_, err := a.Issue(ClientProfile(config.RoleAgent), epoch)
	require.ErrorContains(t, err, "needs the names of its database cluster")
	_, err = Authority{}.Issue(ClientProfile("reader"), epoch)
	require.ErrorContains(t, err, "no certificate authority yet")
}

func TestLongNamesAreIssued(t *testing.T) {
	a := newAuthority(t, epoch)
	long := "a-very-long-name-of-a-namespace-that-kubernetes-still-permits-63"
	pair, err := a.Issue(AgentProfile(long[:63], long[:54]), epoch)
	require.NoError(t, err)
	require.NoError(t, pair.cert.VerifyHostname(config.ServerName(long[:63], long[:54])))
}

func TestDue(t *testing.T) {
	a := newAuthority(t, epoch)
	profile := AgentProfile("prod", "search")
	pair, err := a.Issue(profile, epoch)
	require.NoError(t, err)

	require.False(t, a.Due(pair, profile, epoch))
	require.False(t, a.Due(pair, profile, epoch.Add(LeafLife*2/3-10*time.Minute)))
	require.True(t, a.Due(pair, profile, epoch.Add(LeafLife*2/3)))
	require.True(t, a.Due(pair, profile, epoch.AddDate(-1, 0, 0)), "a clock before its beginning")
	require.True(t, a.Due(Pair{}, profile, epoch))
	require.True(t, a.Due(pair, AgentProfile("prod", "other"), epoch))
	require.True(t, a.Due(pair, ClientProfile("reader"), epoch))
	require.True(t, newAuthority(t, epoch).Due(pair, profile, epoch), "another authority")
}

// A certificate that cannot be used to ask, without the role or the usage, is not what agents need.
func TestAgentsCertificatesWithoutTheRoleAreDue(t *testing.T) {
	a := newAuthority(t, epoch)
	profile := AgentProfile("prod", "search")
	without := profile
	without.Role = ""
	pair, err := a.Issue(without, epoch)
	require.NoError(t, err)
	require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, pair.cert.ExtKeyUsage)
	require.True(t, a.Due(pair, profile, epoch))

	pair, err = a.Issue(profile, epoch)
	require.NoError(t, err)
	require.False(t, a.Due(pair, profile, epoch))
	require.ElementsMatch(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, pair.cert.ExtKeyUsage)
	role, ok := Role(pair.cert)
	require.True(t, ok)
	require.Equal(t, config.RoleAgent, role)
	require.NoError(t, pair.cert.VerifyHostname(config.ServerName("prod", "search")))

	// The role without the usage.
	pair.cert.ExtKeyUsage = pair.cert.ExtKeyUsage[:1]
	require.True(t, a.Due(pair, profile, epoch))
}

func TestLeafDoesNotOutliveItsAuthority(t *testing.T) {
	a := newAuthority(t, epoch)
	pair, err := a.Issue(ClientProfile("reader"), epoch.Add(AuthorityLife-time.Hour))
	require.NoError(t, err)
	require.Equal(t, a.NotAfter(), pair.cert.NotAfter)
}
