package opensearch

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/rollcall-dev/rollcall/engines/opensearch/opensearchtest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

const agentPassword = "Mango-Tree-Under-Snow-7"

// createUser makes the agents' user as the documents say.
func createUser(n *opensearchtest.Node, role Role) {
	const api = "/_plugins/_security/api/"
	user, _ := json.Marshal(map[string]string{"password": agentPassword})
	n.Call("PUT", api+"internalusers/"+RoleName, string(user))
	n.Call("PUT", api+"roles/"+RoleName, role.JSON())
	n.Call("PUT", api+"rolesmapping/"+RoleName, `{"users":["`+RoleName+`"]}`)
}

func agentAccess(c *opensearchtest.Cluster, n *opensearchtest.Node) web.Access {
	return web.Access{
		Host: n.Host, Port: n.Port, TLS: web.TLS{Enabled: true, CA: c.Authority.CA},
		Credentials: func() (string, credentials.Secret, error) { return RoleName, credentials.NewSecret(agentPassword), nil },
	}
}

// without returns the role without one of its permissions.
func (r Role) without(permission string) Role {
	drop := func(p string) bool { return p == permission }
	out := Role{Cluster: slices.DeleteFunc(slices.Clone(r.Cluster), drop)}
	for _, p := range r.Indices {
		out.Indices = append(out.Indices, IndexPermissions{Patterns: p.Patterns, Actions: slices.DeleteFunc(slices.Clone(p.Actions), drop)})
	}
	return out
}

// TestRealSmallestRole checks that the role in the documents is enough for all that the agent does, and that each
// permission in it is needed and named when it is missing.
func TestRealSmallestRole(t *testing.T) {
	versions := opensearchtest.SecuredVersions
	if os.Getenv(envAll) == "" {
		versions = versions[len(versions)-1:]
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := opensearchtest.Start(t, opensearchtest.Options{Versions: []string{version, version}, Security: &opensearchtest.Security{}})
			n := c.Nodes[0]
			createUser(n, SmallestRole())
			n.Call("PUT", "/logs", `{"settings":{"number_of_shards":2,"number_of_replicas":0,"index.routing.allocation.include._name":"`+n.Name+`"}}`)
			n.Call("PUT", "/logs/_settings", `{"index.routing.allocation.include._name":null}`)
			nowhere := func() {
				n.Call("PUT", "/nowhere?wait_for_active_shards=1", `{"settings":{"number_of_shards":1,"number_of_replicas":1,"index.routing.allocation.include._name":"`+n.Name+`"}}`)
			}
			nowhere()
			e := mustNew(t, Options{Access: agentAccess(c, n)})
			o := await(t, e, "as agent", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictRecoverable })
			require.Contains(t, o.Health.Reason, "nowhere/0", "explained")
			require.NotZero(t, o.DataBytes)
			n.Call("DELETE", "/nowhere", "")
			for _, kind := range []engines.Kind{engines.Handoff, engines.Evacuate} {
				order := engines.Order{Kind: kind, Claim: "claim-" + kind.String()}
				undo, err := e.PlanDrain(t.Context(), order)
				require.NoError(t, err)
				t.Log(repeat(t, func() (engines.Progress, error) { return e.Drain(t.Context(), order, undo) }))
				repeat(t, func() (engines.Progress, error) { return e.Restore(t.Context(), undo) })
			}
			require.NoError(t, e.Sweep(t.Context(), nil))
			nowhere()
			for _, permission := range SmallestRole().permissions() {
				n.Call("PUT", "/_plugins/_security/api/roles/"+RoleName, SmallestRole().without(permission).JSON())
				err := everything(t, mustNew(t, Options{Access: agentAccess(c, n)}))
				require.Error(t, err, "not needed: %s", permission)
				t.Log(err)
				status, ok := web.Status(err)
				require.True(t, ok && status.Denied(), err)
				require.Contains(t, err.Error(), strings.TrimSuffix(permission, "*"), "what is missing is named")
			}
		})
	}
}

// everything makes each call that the agent makes.
func everything(t *testing.T, e *Engine) error {
	ctx, a := t.Context(), e.api
	known, err := a.reading(ctx, nil, nil)
	if err == nil {
		require.NotEmpty(t, known.undecided())
		_, err = a.placeless(ctx, known.undecided()[0])
	}
	_, identity := a.identity(ctx)
	_, health := a.health(ctx)
	_, size := a.dataBytes(ctx)
	_, expanding := a.autoExpanding(ctx)
	return errors.Join(err, identity, health, size, expanding, a.change(ctx, changes{"cluster.metadata.rollcall.test": nil}, nil),
		a.excludeVoters(ctx, []string{"no-such-node"}, nil), a.clearVoters(ctx), a.flush(ctx))
}

// TestRealSecurityMistakes stages what people get wrong against a node that asks for TLS, a user and, later, a client's
// certificate: nothing is observed, and the reason says what to change.
func TestRealSecurityMistakes(t *testing.T) {
	version := opensearchtest.SecuredVersions[len(opensearchtest.SecuredVersions)-1]
	c := opensearchtest.Start(t, opensearchtest.Options{Versions: []string{version}, Security: &opensearchtest.Security{Reload: true}})
	n := c.Nodes[0]
	createUser(n, SmallestRole())
	right := agentAccess(c, n)
	as := func(user, password string) func() (string, credentials.Secret, error) {
		return func() (string, credentials.Secret, error) { return user, credentials.NewSecret(password), nil }
	}
	says := func(name string, change func(*web.Access), want ...string) {
		t.Helper()
		access := right
		change(&access)
		o, err := mustNew(t, Options{Access: access}).Observe(t.Context())
		require.NoError(t, err)
		t.Logf("%s: %s", name, o.Health.Reason)
		require.Equal(t, engines.MembershipUnknown, o.Member, name)
		require.Equal(t, engines.VerdictUnknown, o.Health.Verdict, name)
		for _, words := range want {
			require.Contains(t, o.Health.Reason, words, name)
		}
		for _, secret := range []string{agentPassword, "Wrong-Horse-9", "PRIVATE KEY"} {
			require.NotContains(t, o.Health.Reason, secret, name)
		}
	}
	all := func() {
		t.Helper()
		await(t, mustNew(t, Options{Access: right}), "all is right", func(o engines.Observation) bool {
			return o.Member == engines.MembershipLive && o.Health.Verdict == engines.VerdictGreen
		})
	}
	all()
	says("TLS is off", func(a *web.Access) { a.TLS = web.TLS{} }, "spec.connection.tls.enabled on")
	says("no authority", func(a *web.Access) { a.TLS.CA = "" }, "spec.connection.tls.caSecret")
	says("another name", func(a *web.Access) { a.TLS.ServerName = "search.example" }, "spec.connection.tls.serverName", "localhost, 127.0.0.1")
	says("no user", func(a *web.Access) { a.Credentials = nil }, "401", "spec.connection.credentialsSecret")
	says("wrong password", func(a *web.Access) { a.Credentials = as(RoleName, "Wrong-Horse-9") }, "401", "the user or the password")
	says("wrong user", func(a *web.Access) { a.Credentials = as("nobody", agentPassword) }, "401", "the user or the password")

	n.Call("PUT", "/_plugins/_security/api/roles/"+RoleName, SmallestRole().without("cluster:monitor/state").JSON())
	says("a permission", func(*web.Access) {}, "403", "no permissions for [cluster:monitor/state]", "lacks a permission")
	n.Call("PUT", "/_plugins/_security/api/roles/"+RoleName, SmallestRole().JSON())
	all()

	serial := n.Serial()
	end := time.Now().Add(15 * time.Second)
	n.Certify(authority.Leaf{NotAfter: end}) // one that has expired already may not be taken
	require.Eventually(t, func() bool { return n.Serial() != serial }, time.Until(end), 500*time.Millisecond)
	time.Sleep(time.Until(end) + time.Second)
	says("expired", func(*web.Access) {}, "has expired on ")
}

// TestRealClientCertificates checks an agent at a node that asks every client for a certificate.
func TestRealClientCertificates(t *testing.T) {
	version := opensearchtest.SecuredVersions[0]
	c := opensearchtest.Start(t, opensearchtest.Options{Versions: []string{version}, Security: &opensearchtest.Security{ClientCertificates: true}})
	n := c.Nodes[0]
	createUser(n, SmallestRole())
	engine := func(issuer *authority.Authority, leaf authority.Leaf) *Engine {
		access := agentAccess(c, n)
		if issuer != nil {
			cert, key := issuer.Issue(leaf)
			access.TLS.Cert, access.TLS.Key = cert, credentials.NewSecret(key)
		}
		return mustNew(t, Options{Access: access})
	}
	await(t, engine(c.Authority, authority.Leaf{Name: "agent"}), "shown", func(o engines.Observation) bool { return o.Member == engines.MembershipLive })
	for name, e := range map[string]*Engine{
		"none":       engine(nil, authority.Leaf{}),
		"a stranger": engine(authority.New(t, "others"), authority.Leaf{Name: "agent"}),
		"expired":    engine(c.Authority, authority.Leaf{Name: "agent", NotAfter: time.Now().Add(-time.Hour)}),
	} {
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		t.Logf("%s: %s", name, o.Health.Reason)
		require.Equal(t, engines.MembershipUnknown, o.Member, name)
		require.Contains(t, o.Health.Reason, "spec.connection.tls.clientSecret", name)
	}
}
