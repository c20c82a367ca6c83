package opensearchtest

import (
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
)

// SecuredVersions are the versions with the security plugin that the folder holds, oldest first.
var SecuredVersions = []string{"2.19.4", "3.4.0"}

// Security switches the security plugin on: TLS between the nodes and for HTTP, certificates of an own authority, and the
// users, roles and settings that the plugin brings along, of whom AdminUser may do everything.
type Security struct {
	// ClientCertificates makes every connection to the HTTP port need a certificate of the authority.
	ClientCertificates bool
	// Reload makes the nodes read their certificates again when the files change.
	Reload bool
	// Plain leaves the HTTP port without TLS.
	Plain bool
	// Files replace or add to those of the plugin's configuration, such as roles.yml.
	Files map[string]string
}

// AdminUser and AdminPassword belong to the user of the plugin's own configuration who may do everything.
const (
	AdminUser     = "admin"
	AdminPassword = "admin"
)

// secure makes the authority and the client that the tests talk with.
func (c *Cluster) secure() {
	c.Authority = authority.New(c.t, "opensearchtest CA")
	cert, key := c.Authority.Issue(authority.Leaf{Name: "admin"})
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(c.t, err)
	c.client = &http.Client{Timeout: 90 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: authority.Pool(c.Authority.CA), Certificates: []tls.Certificate{pair}},
	}}
}

// Certify gives the node a new certificate. It is read when the node starts, and sooner with Security.Reload.
func (n *Node) Certify(leaf authority.Leaf) {
	if leaf.Name == "" {
		leaf.Name = "node"
	}
	cert, key := n.cluster.Authority.Issue(leaf)
	n.replace("node.key", key)
	n.replace("node.pem", cert)
}

// Serial is the serial number of the certificate that the node shows now.
func (n *Node) Serial() string {
	t := n.cluster.t
	t.Helper()
	config := n.cluster.client.Transport.(*http.Transport).TLSClientConfig
	conn, err := tls.Dial("tcp", net.JoinHostPort(n.Host, strconv.Itoa(n.Port)), config)
	require.NoError(t, err)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// replace changes a file at once, as a mounted Secret changes.
func (n *Node) replace(name, text string) {
	n.write(name+".next", text)
	dir := filepath.Join(n.home, "config")
	require.NoError(n.cluster.t, os.Rename(filepath.Join(dir, name+".next"), filepath.Join(dir, name)))
}

// configure writes the files of the plugin.
func (n *Node) configure() {
	c := n.cluster
	n.write("ca.pem", c.Authority.CA)
	if _, err := os.Stat(filepath.Join(n.home, "config", "node.pem")); err != nil {
		n.Certify(authority.Leaf{})
	}
	dir := filepath.Join(n.home, "config", "opensearch-security")
	require.NoError(c.t, os.RemoveAll(dir))
	require.NoError(c.t, os.CopyFS(dir, os.DirFS(filepath.Join(c.home, n.Version, "plugins", "opensearch-security", "config"))))
	for name, text := range c.options.Security.Files {
		require.NoError(c.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

// settings are the lines of opensearch.yml, in the form of the plugin's own demonstration.
func (s *Security) settings(all map[string]string) {
	const prefix = "plugins.security."
	for layer, on := range map[string]bool{"ssl.transport.": true, "ssl.http.": !s.Plain} {
		if on {
			all[prefix+layer+"pemcert_filepath"] = "node.pem"
			all[prefix+layer+"pemkey_filepath"] = "node.key"
			all[prefix+layer+"pemtrustedcas_filepath"] = "ca.pem"
		}
	}
	maps.Copy(all, map[string]string{
		prefix + "ssl.transport.enforce_hostname_verification": "false",
		prefix + "ssl.http.enabled":                            yes(!s.Plain),
		prefix + "allow_default_init_securityindex":            "true",
		prefix + "nodes_dn":                                    "['CN=node']",
		prefix + "authcz.admin_dn":                             "['CN=operator']",
		prefix + "restapi.roles_enabled":                       "[all_access, security_rest_api_access]",
		prefix + "system_indices.enabled":                      "true",
		prefix + "audit.type":                                  "noop",
		// Handshakes of TLS are slow while several nodes start on a busy machine.
		"discovery.probe.connect_timeout":   "60s",
		"discovery.probe.handshake_timeout": "60s",
	})
	if s.ClientCertificates {
		all[prefix+"ssl.http.clientauth_mode"] = "REQUIRE"
	}
	if s.Reload {
		all[prefix+"ssl.certificates_hot_reload.enabled"] = "true"
		for _, often := range []string{"high", "medium", "low"} {
			all["resource.reload.interval."+often] = "1s"
		}
	}
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
