package solr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// securedPassword is the secured password of both users; the hash is the one in Solr's own manual.
const securedPassword = "SolrRocks"

// securityJSON: "solr" may do everything, "agent" what DESIGN.md says an agent
// needs, "guest" nothing but ask for health.
const securityJSON = `{"authentication":{"blockUnknown":true,"class":"solr.BasicAuthPlugin",
"credentials":{"solr":"IV0EHq1OnNrj6gvRCwvFwTrZ1+z1oBbnQdiVC3otuq0= Ndd7LKvVBAaZIF0QAVi1ekCfAJXr1GGfLtRUXhgrF8c=",
"agent":"IV0EHq1OnNrj6gvRCwvFwTrZ1+z1oBbnQdiVC3otuq0= Ndd7LKvVBAaZIF0QAVi1ekCfAJXr1GGfLtRUXhgrF8c=",
"guest":"IV0EHq1OnNrj6gvRCwvFwTrZ1+z1oBbnQdiVC3otuq0= Ndd7LKvVBAaZIF0QAVi1ekCfAJXr1GGfLtRUXhgrF8c="}},
"authorization":{"class":"solr.RuleBasedAuthorizationPlugin","user-role":{"solr":"admin","agent":"agent"},
"permissions":[{"name":"health","role":null},
{"name":"collection-admin-read","role":["agent","admin"]},{"name":"collection-admin-edit","role":["agent","admin"]},
{"name":"config-read","role":["agent","admin"]},{"name":"metrics-read","role":["agent","admin"]},{"name":"update","role":["agent","admin"]},
{"name":"balance","collection":null,"path":"/____v2/cluster/replicas/balance","role":["agent","admin"]},{"name":"all","role":"admin"}]}}`

func startSecured(t *testing.T, version string) *solrtest.Cluster {
	return solrtest.Start(t, solrtest.Options{Versions: []string{version, version}, Security: securityJSON, User: "solr", Password: securedPassword})
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

// TestRealLeastPrivilege does everything as a user who may do only what DESIGN.md
// lists.
func TestRealLeastPrivilege(t *testing.T) {
	c := startSecured(t, "10.0.0")
	n := c.Nodes[0]
	n.Create("books", "numShards", "2", "nrtReplicas", "1", "createNodeSet", n.Name)
	n.Create("pages", "numShards", "1", "nrtReplicas", "2")
	e := mustNew(t, Options{Access: web.Access{Host: n.Host, Port: n.Port, Credentials: func() (string, credentials.Secret, error) {
		return "agent", credentials.NewSecret(securedPassword), nil
	}}})
	o := await(t, e, "as agent", whole)
	require.Empty(t, o.Veto)
	require.NotZero(t, o.DataBytes)
	undo, detail := prepare(t, e, engines.Order{Kind: engines.Handoff, Claim: "claim-1"})
	require.Equal(t, "books/shard1, books/shard2 stay: no other active copy can lead", detail)
	restoreAll(t, e, undo)
	undo, _ = prepare(t, e, engines.Order{Kind: engines.Evacuate, Claim: "claim-2"})
	restoreAll(t, e, undo)
	require.NoError(t, e.Sweep(t.Context(), nil))
	require.True(t, e.balanced["claim-2"])
	require.Empty(t, leftProperties(c))
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
