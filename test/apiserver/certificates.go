package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// certificates writes those of the server, and of an administrator, with their
// authority, and the key by which tokens are signed.
func (s *Server) certificates() error {
	ca := &x509.Certificate{Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	authority, err := s.issue("ca", ca, nil, nil)
	if err != nil {
		return err
	}
	for name, template := range map[string]*x509.Certificate{
		"server": {Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		"admin": {Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
	} {
		if _, err := s.issue(name, template, ca, authority); err != nil {
			return err
		}
	}
	tokens, err := s.key("tokens")
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(tokens.Public())
	if err != nil {
		return err
	}
	return s.write("tokens.pub", "PUBLIC KEY", public)
}

// Certificate is a kubeconfig's of a person with a client's certificate and no token.
func (s *Server) Certificate(name string, groups ...string) *rest.Config {
	s.t.Helper()
	pair, err := tls.LoadX509KeyPair(s.path("ca.crt"), s.path("ca.key"))
	require.NoError(s.t, err)
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	require.True(s.t, ok)
	_, err = s.issue(name, &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, pair.Leaf, key)
	require.NoError(s.t, err)
	config := rest.AnonymousClientConfig(s.Admin)
	config.CertFile, config.KeyFile = s.path(name+".crt"), s.path(name+".key")
	return config
}

// issue writes a certificate and its key; without a parent it signs itself.
func (s *Server) issue(name string, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	key, err := s.key(name)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	template.KeyUsage |= x509.KeyUsageDigitalSignature
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	return key, s.write(name+".crt", "CERTIFICATE", der)
}

func (s *Server) key(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, s.write(name+".key", "EC PRIVATE KEY", der)
}

func (s *Server) write(name, kind string, der []byte) error {
	return os.WriteFile(s.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
