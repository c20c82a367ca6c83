package solr

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// securedPassword is the password of all users.
const securedPassword = "SolrRocks"

// securedHash is of securedPassword; it is the one in Solr's own manual.
const securedHash = "IV0EHq1OnNrj6gvRCwvFwTrZ1+z1oBbnQdiVC3otuq0= Ndd7LKvVBAaZIF0QAVi1ekCfAJXr1GGfLtRUXhgrF8c="

// securityWith is a security.json: "solr" may do everything, "rollcall" what the role says, "guest" nothing, and
// "without-NAME" all of the role but the permission of that name.
func securityWith(role Role) string {
	users, roles := map[string]string{}, map[string]string{"solr": "admin", RoleName: RoleName}
	var permissions []string
	for _, p := range role.Permissions {
		roles["without-"+p.Name] = "without-" + p.Name
	}
	for user := range roles {
		users[user] = securedHash
	}
	users["guest"] = securedHash
	for _, p := range role.Permissions {
		p.Roles = slices.Clone(p.Roles)
		for _, other := range role.Permissions {
			if other.Name != p.Name {
				p.Roles = append(p.Roles, "without-"+other.Name)
			}
		}
		permissions = append(permissions, p.JSON())
	}
	permissions = append(permissions, `{"name": "all", "role": "admin"}`)
	credentials, _ := json.Marshal(users) // strings only
	userRole, _ := json.Marshal(roles)
	return fmt.Sprintf(`{"authentication": {"blockUnknown": true, "class": "solr.BasicAuthPlugin", "credentials": %s},
"authorization": {"class": "solr.RuleBasedAuthorizationPlugin", "user-role": %s, "permissions": [%s]}}`,
		credentials, userRole, strings.Join(permissions, ",\n"))
}

func startSecured(t *testing.T, version string) *solrtest.Cluster {
	return solrtest.Start(t, solrtest.Options{Versions: []string{version, version}, Security: securityWith(SmallestRole()), User: "solr", Password: securedPassword})
}

// TestRealBasicAuth drains and restores a node of a secured cluster, while the password file
// changes.
func TestRealBasicAuth(t *testing.T) {
	c := startSecured(t, "10.0.0")
	n := c.Nodes[0]
	n.Create("books", "numShards", "2", "nrtReplicas", "2")
	user, password := "solr", securedPassword
	e := mustNew(t, Options{Access: web.Access{Host: n.Host, Port: n.Port, Credentials: func() (string, credentials.Secret, error) {
		return user, credentials.NewSecret(password), nil
	}}})
	await(t, e, "secured", whole)
	order := engines.Order{Kind: engines.Handoff, Claim: "claim-1"}
	undo, _ := prepare(t, e, order)
	restoreAll(t, e, undo)

	for _, wrong := range [][2]string{{"solr", "wrong-password"}, {"guest", securedPassword}, {"", ""}} {
		user, password = wrong[0], wrong[1]
		e.observer.self = engines.Cached[identity]{}
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		t.Logf("as %q: %s %s", user, o.Member, o.Health.Reason)
		require.Equal(t, engines.MembershipUnknown, o.Member)
		require.Regexp(t, "solr answered 40[13]", o.Health.Reason)
		require.NotContains(t, o.Health.Reason, "wrong-password")
		_, err = e.PlanDrain(t.Context(), order)
		require.True(t, denied(err), err)
	}
	user, password = "solr", securedPassword
	await(t, e, "right again", whole)
}

// TestRealSmallestRole does everything as the user of the documents. Without any one of the permissions something is
// refused, and Rollcall says which one is missing.
func TestRealSmallestRole(t *testing.T) {
	t.Parallel() // each has a cluster of its own
	for _, version := range solrtest.Tried() {
		t.Run(version, func(t *testing.T) { smallestRole(t, startSecured(t, version), version) })
	}
}

func smallestRole(t *testing.T, c *solrtest.Cluster, version string) {
	n := c.Nodes[0]
	n.Create("books", "numShards", "2", "nrtReplicas", "1", "createNodeSet", n.Name)
	n.Create("pages", "numShards", "1", "nrtReplicas", "2")
	require.NotContains(t, everything(t, c, RoleName, false), "40", "as the documents say")
	for _, p := range SmallestRole().Permissions {
		if p.Name == permissionBalance && strings.HasPrefix(version, "8.") {
			continue // it cannot
		}
		said := everything(t, c, "without-"+p.Name, p.Name == permissionBalance)
		require.Contains(t, said, "lacks the permission "+p.Name, p.Name)
	}
	require.NotContains(t, everything(t, c, RoleName, true), "40")
	require.Empty(t, leftProperties(c))
}

// everything does what agents do as this user on both nodes, as far as it gets, and returns what was said.
func everything(t *testing.T, c *solrtest.Cluster, user string, evacuate bool) string {
	var said []string
	for i, n := range c.Nodes {
		e := securedEngine(t, c, n, user)
		o, err := e.Observe(t.Context())
		said = append(said, o.Health.Reason, o.Veto, fmt.Sprint(err))
		if _, err := e.api.dataBytes(t.Context(), o.Version); o.Version != "" && err != nil {
			said = append(said, err.Error())
		}
		kinds := []engines.Kind{engines.Handoff}
		if evacuate && i == 0 {
			kinds = append(kinds, engines.Evacuate)
		}
		for _, kind := range kinds {
			order := engines.Order{Kind: kind, Claim: fmt.Sprintf("%s-%d-%s", user, i, kind)}
			undo, err := e.PlanDrain(t.Context(), order)
			said = append(said, fmt.Sprint(err))
			if err != nil {
				continue
			}
			said = append(said, until(t, func() (engines.Progress, error) { return e.Drain(t.Context(), order, undo) }),
				until(t, func() (engines.Progress, error) { return e.Restore(t.Context(), undo) }))
		}
		said = append(said, fmt.Sprint(e.Sweep(t.Context(), nil)))
	}
	return strings.Join(said, "\n")
}

// until repeats it until it is done or fails, and returns what it said last.
func until(t *testing.T, step func() (engines.Progress, error)) string {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		p, err := step()
		if err != nil {
			return err.Error()
		}
		if p.State == engines.ProgressDone || p.State == engines.ProgressRefused || strings.Contains(p.Detail, "403") {
			return p.Detail
		}
		require.True(t, time.Now().Before(deadline), p.Detail)
	}
}

func TestRealTLS(t *testing.T) {
	c := solrtest.Start(t, solrtest.Options{Versions: []string{"10.0.0", "10.0.0"}, TLS: true})
	n := c.Nodes[0]
	n.Create("books", "numShards", "1", "nrtReplicas", "2")
	for name, tls := range map[string]web.TLS{
		"own CA":           {Enabled: true, CA: c.CA},
		"server name":      {Enabled: true, CA: c.CA, ServerName: "solr.test"},
		"verification off": {Enabled: true, InsecureSkipVerify: true},
	} {
		o := await(t, mustNew(t, Options{Access: web.Access{Host: n.Host, Port: n.Port, TLS: tls}}), name, whole)
		require.Len(t, o.Nodes, 2, name)
		require.Equal(t, n.Name, o.Node)
	}
	for name, options := range map[string]web.TLS{
		"system's roots": {Enabled: true},
		"another name":   {Enabled: true, CA: c.CA, ServerName: "other.test"},
		"no TLS":         {},
	} {
		o, err := mustNew(t, Options{Access: web.Access{Host: n.Host, Port: n.Port, TLS: options}}).Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, engines.MembershipUnknown, o.Member, name)
		t.Logf("%s: %s", name, o.Health.Reason)
	}
	e := mustNew(t, Options{Access: web.Access{Host: n.Host, Port: n.Port, TLS: web.TLS{Enabled: true, CA: c.CA}}})
	order := engines.Order{Kind: engines.Handoff, Claim: "claim-1"}
	undo, _ := prepare(t, e, order)
	restoreAll(t, e, undo)
	_, err := e.Drain(t.Context(), order, []byte("{}"))
	require.ErrorIs(t, err, engines.ErrUndo)
}

// TestRealClientCertificates checks an agent at nodes that ask everybody for a certificate, each other
// too: with the one of clientSecret it observes and drains, without a good one it knows nothing and says why.
func TestRealClientCertificates(t *testing.T) {
	t.Parallel() // it has a cluster of its own
	c := solrtest.Start(t, solrtest.Options{Versions: []string{"10.0.0", "10.0.0"}, TLS: true, ClientCertificates: true})
	n := c.Nodes[0]
	n.Create("books", "numShards", "1", "nrtReplicas", "2")
	engine := func(n *solrtest.Node, issuer *authority.Authority, leaf authority.Leaf) *Engine {
		tls := web.TLS{Enabled: true, CA: c.CA}
		if issuer != nil {
			cert, key := issuer.Issue(leaf)
			tls.Cert, tls.Key = cert, credentials.NewSecret(key)
		}
		return mustNew(t, Options{Access: web.Access{Host: n.Host, Port: n.Port, TLS: tls}})
	}
	for _, n := range c.Nodes { // one of them leads
		e := engine(n, c.Authority, authority.Leaf{Name: "agent"})
		await(t, e, "shown", whole)
		undo, detail := prepare(t, e, engines.Order{Kind: engines.Handoff, Claim: "shown"})
		require.Empty(t, detail)
		restoreAll(t, e, undo)
	}
	require.Empty(t, leftProperties(c))

	for name, e := range map[string]*Engine{
		"none":       engine(n, nil, authority.Leaf{}),
		"a stranger": engine(n, authority.New(t, "others"), authority.Leaf{Name: "agent"}),
		"expired":    engine(n, c.Authority, authority.Leaf{Name: "agent", NotAfter: time.Now().Add(-time.Hour)}),
	} {
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		t.Logf("%s: %s", name, o.Health.Reason)
		require.Equal(t, engines.MembershipUnknown, o.Member, name)
		require.Contains(t, o.Health.Reason, "spec.connection.tls.clientSecret", name)
		_, err = e.PlanDrain(t.Context(), engines.Order{Kind: engines.Handoff, Claim: "not-shown"})
		require.ErrorContains(t, err, "spec.connection.tls.clientSecret", name)
	}
}
