package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
)

// TestStrangersCertificatesCostNothing checks that who has nothing from the authority but its name,
// which each server tells in the handshake, shows a certificate that bears it as issuer, and a
// hundred made-up authorities of that name.
func TestStrangersCertificatesCostNothing(t *testing.T) {
	r := three(t)
	m := r.members[0]
	block, _ := pem.Decode(r.authority.PEM())
	authority, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	chain := tls.Certificate{}
	for i := range 101 {
		key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
		require.NoError(t, err)
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 7)), Subject: authority.Subject, IsCA: true, BasicConstraintsValid: true,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		require.NoError(t, err)
		if chain.Certificate = append(chain.Certificate, der); i == 0 {
			chain.PrivateKey = key
		}
	}
	own := r.authority.Client(config.ServerName(testNamespace, testCluster), "none")
	own.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &chain, nil }
	used := func() time.Duration {
		var u syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	const times = 5
	for range times {
		require.Error(t, dial(m.rpc, own))
	}
	each := (used() - before) / times
	t.Log("processor time of a handshake that fails", each)
	require.Less(t, each, 50*time.Millisecond, "with both ends of it, and three agents that go on")
}
