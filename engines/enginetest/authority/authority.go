// Package authority makes certificates for servers and clients that a test runs.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority signs certificates.
type Authority struct {
	// CA is the certificate of the authority as PEM.
	CA string

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Leaf says what is in a certificate, which is good for servers and clients.
type Leaf struct {
	// Name is the common name.
	Name string
	// Hosts are names and addresses of a server. None means localhost and 127.0.0.1.
	Hosts []string
	// NotAfter is when it expires. Zero means in a day.
	NotAfter time.Time
}

// New makes an authority.
func New(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	a.cert = &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotAfter: time.Now().Add(48 * time.Hour),
	}
	a.CA, a.cert = a.sign(a.cert, a.key)
	return a
}

// Issue makes a certificate and its key (PKCS #8), as PEM.
func (a *Authority) Issue(l Leaf) (cert, key string) {
	a.t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: l.Name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, NotAfter: l.NotAfter,
	}
	if l.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(24 * time.Hour)
	}
	if len(l.Hosts) == 0 {
		l.Hosts = []string{"localhost", "127.0.0.1"}
	}
	for _, host := range l.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	own := newKey(a.t)
	cert, _ = a.sign(template, own)
	der, err := x509.MarshalPKCS8PrivateKey(own)
	require.NoError(a.t, err)
	return cert, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func (a *Authority) sign(template *x509.Certificate, own *ecdsa.PrivateKey) (string, *x509.Certificate) {
	a.t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(a.t, err)
	template.SerialNumber, template.NotBefore = serial, time.Now().Add(-48*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &own.PublicKey, a.key)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), cert
}

// Pool trusts what an authority, given as PEM, has signed.
func Pool(ca string) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM([]byte(ca))
	return p
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}
