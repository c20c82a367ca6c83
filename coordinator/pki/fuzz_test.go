package pki

import (
	"testing"
	"time"
)

func FuzzPEM(f *testing.F) {
	authority, err := NewAuthority(SecretAuthority, time.Unix(1_800_000_000, 0))
	if err != nil {
		f.Fatal(err)
	}
	pair := authority.signer
	f.Add(pair.CertPEM(), pair.KeyPEM())
	f.Add(append(pair.CertPEM(), pair.CertPEM()...), []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"))
	f.Add(pair.KeyPEM(), pair.CertPEM())
	f.Fuzz(func(t *testing.T, cert, key []byte) {
		certs, err := ParseCertificates(cert)
		if err == nil && len(certs) == 0 {
			t.Fatal("no certificate, and no error")
		}
		pair, err := ParsePair(cert, key)
		if err == nil && (pair.IsZero() || pair.TLS().PrivateKey == nil) {
			t.Fatal("half a pair, and no error")
		}
	})
}
