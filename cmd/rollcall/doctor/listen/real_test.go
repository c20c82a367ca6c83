package listen

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/security"
	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/rollcall-dev/rollcall/engines/opensearch/opensearchtest"
	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
)

func heard(t *testing.T, host string, port int, q Question) Heard {
	t.Helper()
	q.Dial = func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h, err := Ask(ctx, q)
	require.NoError(t, err)
	h.Certificate = nil
	return h
}

// TestRealOpenSearch checks what real nodes answer, without the security plugin and with it.
func TestRealOpenSearch(t *testing.T) {
	plain := opensearchtest.Start(t, opensearchtest.Options{Versions: []string{"3.8.0"}}).Nodes[0]
	require.Equal(t, Heard{TLS: security.Off, Login: security.Off, Client: security.Off}, heard(t, plain.Host, plain.Port, Question{Path: "/", User: "a", Password: "b"}))

	c := opensearchtest.Start(t, opensearchtest.Options{Versions: []string{"2.19.4"}, Security: &opensearchtest.Security{}})
	n := c.Nodes[0]
	q := Question{Path: "/", CA: []byte(c.Authority.CA), ServerName: "localhost", User: opensearchtest.AdminUser, Password: opensearchtest.AdminPassword}
	require.Equal(t, Heard{TLS: security.On, Login: security.On, Client: security.Off, LoggedIn: security.On}, heard(t, n.Host, n.Port, q))
	q.Password = "wrong"
	require.Equal(t, security.Off, heard(t, n.Host, n.Port, q).LoggedIn)

	c = opensearchtest.Start(t, opensearchtest.Options{Versions: []string{"3.4.0"}, Security: &opensearchtest.Security{ClientCertificates: true}})
	n = c.Nodes[0]
	q.CA, q.Password = []byte(c.Authority.CA), opensearchtest.AdminPassword
	require.Equal(t, Heard{TLS: security.On, Client: security.On}, heard(t, n.Host, n.Port, q))
	pair, err := tls.X509KeyPair(certificate(c.Authority))
	require.NoError(t, err)
	q.Client = &pair
	require.Equal(t, Heard{TLS: security.On, Login: security.On, Client: security.Off, LoggedIn: security.On}, heard(t, n.Host, n.Port, q))
}

func certificate(a *authority.Authority) (cert, key []byte) {
	c, k := a.Issue(authority.Leaf{Name: "rollcall"})
	return []byte(c), []byte(k)
}

// TestRealSolr checks what real nodes answer, with and without TLS and a login.
func TestRealSolr(t *testing.T) {
	const path = "/solr/admin/collections?action=LIST&wt=json"
	plain := solrtest.Start(t, solrtest.Options{Versions: []string{"9.10.1"}}).Nodes[0]
	require.Equal(t, Heard{TLS: security.Off, Login: security.Off, Client: security.Off}, heard(t, plain.Host, plain.Port, Question{Path: path}))

	// The password is SolrRocks, as in Solr's own documents.
	const basic = `{"authentication":{"class":"solr.BasicAuthPlugin","blockUnknown":true,"credentials":{"solr":"IV0EHq1OnNrj6gvRCwvFwTrZ1+z1oBbnQdiVC3otuq0= Ndd7LKvVBAaZIF0QAVi1ekCfAJXr1GGfLtRUXhgrF8c="}}}`
	c := solrtest.Start(t, solrtest.Options{Versions: []string{"9.10.1"}, Security: basic, User: "solr", Password: "SolrRocks", TLS: true})
	n := c.Nodes[0]
	q := Question{Path: path, CA: []byte(c.CA), ServerName: "localhost", User: "solr", Password: "SolrRocks"}
	require.Equal(t, Heard{TLS: security.On, Login: security.On, Client: security.Off, LoggedIn: security.On}, heard(t, n.Host, n.Port, q))
	q.Password = "wrong"
	require.Equal(t, security.Off, heard(t, n.Host, n.Port, q).LoggedIn)
}
