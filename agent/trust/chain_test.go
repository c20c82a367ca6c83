package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMadeUpAuthoritiesCostNothing checks that behind a certificate a peer shows a hundred that
// bear the authority's name and a key of 521 bits. Agents judge each connection once a second, all
// of them while they hold the lock that a handshake waits for.
func TestMadeUpAuthoritiesCostNothing(t *testing.T) {
	now := time.Now()
	name := pkix.Name{CommonName: "rollcall-ca 2026-11-26"}
	make1 := func(curve elliptic.Curve, template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		require.NoError(t, err)
		template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(time.Hour)
		if by == nil {
			parent, by = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
		require.NoError(t, err)
		cert, err := x509.ParseCertificate(der)
		require.NoError(t, err)
		return cert, key
	}
	ca := func(n int64) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(n), Subject: name, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	}
	authority, key := make1(elliptic.P256(), ca(1), nil, nil)
	leaf, _ := make1(elliptic.P256(), &x509.Certificate{SerialNumber: big.NewInt(2), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, authority, key)
	shown := []*x509.Certificate{leaf}
	bytes := 0
	for i := range 100 {
		junk, _ := make1(elliptic.P521(), ca(int64(10+i)), nil, nil)
		shown, bytes = append(shown, junk), bytes+len(junk.Raw)
	}
	require.Less(t, bytes, 64<<10)
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	took := time.Hour
	for range 3 {
		began := time.Now()
		_ = Verify(shown, roots, x509.ExtKeyUsageClientAuth, now)
		took = min(took, time.Since(began))
	}
	t.Log(bytes, "bytes", took)
	require.Less(t, took, 5*time.Millisecond)
}
