package solrtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

const storePassword = "changeit"

// makeCertificates writes a PKCS12 key store and trust store for the nodes and returns the CA as
// PEM.
func (c *Cluster) makeCertificates() string {
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "solrtest CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	caKey := c.key()
	caPEM, caCert := c.sign(ca, ca, caKey, caKey)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "solr node"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost", "solr.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	leafKey := c.key()
	leafPEM, _ := c.sign(leaf, caCert, leafKey, caKey)
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	require.NoError(c.t, err)
	keyPEM := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	c.write("ca.pem", caPEM)
	c.write("node.pem", leafPEM+caPEM+keyPEM)
	c.command("openssl", "pkcs12", "-export", "-in", c.file("node.pem"), "-out", c.file("node.p12"), "-name", "node", "-passout", "pass:"+storePassword)
	c.command("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", c.file("ca.pem"), "-keystore", c.file("trust.p12"),
		"-storetype", "PKCS12", "-storepass", storePassword)
	return caPEM
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

func (c *Cluster) key() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(c.t, err)
	return key
}

func (c *Cluster) sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (string, *x509.Certificate) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	require.NoError(c.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(c.t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), cert
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

func (c *Cluster) write(name, text string) {
	require.NoError(c.t, os.WriteFile(c.file(name), []byte(text), 0o600))
}

func (c *Cluster) command(name string, args ...string) {
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(c.t, err, "%s: %s", name, out)
}

func pool(caPEM string) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM([]byte(caPEM))
	return p
}
