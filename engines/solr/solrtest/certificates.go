package solrtest

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/stretchr/testify/require"
)

const storePassword = "changeit"

// makeCertificates writes a PKCS12 key store and trust store for the nodes and returns the CA as
// PEM.
func (c *Cluster) makeCertificates() string {
	signer := authority.New(c.t, "solrtest CA")
	cert, key := signer.Issue(authority.Leaf{Name: "solr node", Hosts: []string{"localhost", "solr.test", "127.0.0.1"}})
	c.write("ca.pem", signer.CA)
	c.write("node.pem", cert+signer.CA+key)
	c.command("openssl", "pkcs12", "-export", "-in", c.file("node.pem"), "-out", c.file("node.p12"), "-name", "node", "-passout", "pass:"+storePassword)
	c.command("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", c.file("ca.pem"), "-keystore", c.file("trust.p12"),
		"-storetype", "PKCS12", "-storepass", storePassword)
	return signer.CA
}

func (c *Cluster) tlsProperties() []string {
	if !c.options.TLS {
		return nil
	}
	key, trust := c.file("node.p12"), c.file("trust.p12")
	return []string{
		"-Dsolr.jetty.keystore=" + key, "-Dsolr.jetty.keystore.password=" + storePassword,
		"-Dsolr.jetty.truststore=" + trust, "-Dsolr.jetty.truststore.password=" + storePassword,
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
