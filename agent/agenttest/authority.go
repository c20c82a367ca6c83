// Package agenttest makes what an agent gets in a cluster: certificates, keys and the mounted
// Secret. It is for tests only.
package agenttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
)

// Authority issues what the Secret of a database cluster and its clients hold.
type Authority struct {
	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes a new one.
func NewAuthority(t testing.TB) *Authority {
	a := &Authority{t: t}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key, a.certificate = a.sign(template, template, nil)
	return a
}

func (a *Authority) sign(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	if parentKey == nil {
		parentKey = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	require.NoError(a.t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return key, certificate
}

// Issue makes a certificate: a server's with that DNS name, a client's with that
// role, or an agent's with both.
func (a *Authority) Issue(server string, role string) (certPEM, keyPEM []byte) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "leaf"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if server != "" {
		template.DNSNames = []string{server}
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if server == "" || role != "" {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	if role != "" {
		uri, err := url.Parse(config.RolePrefix + role)
		require.NoError(a.t, err)
		template.URIs = []*url.URL{uri}
	}
	key, certificate := a.sign(template, a.certificate, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// Client returns TLS of a caller with that role; an empty role is a certificate without one, "none"
// no certificate.
func (a *Authority) Client(server, role string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	c := &tls.Config{RootCAs: pool, ServerName: server, MinVersion: tls.VersionTLS13}
	if role == "none" {
		return c
	}
	c.Certificates = []tls.Certificate{a.pair("", role)}
	return c
}

// Agent returns TLS of an agent of the database cluster with the name own, that asks the server.
func (a *Authority) Agent(server, own string) *tls.Config {
	c := a.Client(server, "none")
	c.Certificates = []tls.Certificate{a.pair(own, config.RoleAgent)}
	return c
}

func (a *Authority) pair(server, role string) tls.Certificate {
	certificate, err := tls.X509KeyPair(a.Issue(server, role))
	require.NoError(a.t, err)
	return certificate
}

// Mount writes a Secret as a directory, replacing what is there.
func (a *Authority) Mount(dir, namespace, cluster string, file config.File, gossipKeys []byte) {
	certPEM, keyPEM := a.Issue(config.ServerName(namespace, cluster), config.RoleAgent)
	text, err := json.Marshal(file)
	require.NoError(a.t, err)
	for name, data := range map[string][]byte{
		config.KeyCert: certPEM, config.KeyKey: keyPEM, config.KeyCA: a.PEM(),
		config.KeyGossip: gossipKeys, config.KeyConfig: text,
	} {
		require.NoError(a.t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
}
