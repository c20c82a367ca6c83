package solrtest

import (
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/stretchr/testify/require"
)

const storePassword = "changeit"

// makeCertificates writes a PKCS12 key store and trust store for the nodes and returns what the
// tests' own client speaks with.
func (c *Cluster) makeCertificates() *tls.Config {
	c.Authority = authority.New(c.t, "solrtest CA")
	c.CA = c.Authority.CA
	cert, key := c.Authority.Issue(authority.Leaf{Name: "solr node", Hosts: []string{"localhost", "solr.test", "127.0.0.1"}})
	c.write("ca.pem", c.CA)
	c.write("node.pem", cert+c.CA+key)
	c.command("openssl", "pkcs12", "-export", "-in", c.file("node.pem"), "-out", c.file("node.p12"), "-name", "node", "-passout", "pass:"+storePassword)
	c.command("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", c.file("ca.pem"), "-keystore", c.file("trust.p12"),
		"-storetype", "PKCS12", "-storepass", storePassword)
	own, err := tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(c.t, err)
	return &tls.Config{RootCAs: authority.Pool(c.CA), Certificates: []tls.Certificate{own}}
}

func (c *Cluster) tlsProperties() []string {
	if !c.options.TLS {
		return nil
	}
	key, trust := c.file("node.p12"), c.file("trust.p12")
	return []string{
		"-Dsolr.jetty.keystore=" + key, "-Dsolr.jetty.keystore.password=" + storePassword,
		"-Dsolr.jetty.truststore=" + trust, "-Dsolr.jetty.truststore.password=" + storePassword,
		fmt.Sprint("-Dsolr.jetty.ssl.needClientAuth=", c.options.ClientCertificates),
		"-Djavax.net.ssl.keyStore=" + key, "-Djavax.net.ssl.keyStorePassword=" + storePassword,
		"-Djavax.net.ssl.trustStore=" + trust, "-Djavax.net.ssl.trustStorePassword=" + storePassword,
	}
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

func (c *Cluster) write(name, text string) {
	require.NoError(c.t, os.WriteFile(c.file(name), []byte(text), 0o600))
}

func (c *Cluster) command(name string, args ...string) {
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(c.t, err, "%s: %s", name, out)
}
