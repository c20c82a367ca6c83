package zookeepertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

// makeCertificates makes a CA, and a certificate of the servers and one of a client.
func (e *Ensemble) makeCertificates() {
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "zookeepertest CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	caKey := e.key()
	caCert := e.sign(ca, ca, caKey, caKey)
	e.CA = block("CERTIFICATE", caCert.Raw)
	leaf := func(number int64, name string) (certificate, key string) {
		own := e.key()
		made := e.sign(&x509.Certificate{
			SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: name}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			DNSNames: []string{"localhost", "zookeeper.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}, caCert, own, caKey)
		der, err := x509.MarshalPKCS8PrivateKey(own)
		require.NoError(e.t, err)
		return block("CERTIFICATE", made.Raw), block("PRIVATE KEY", der)
	}
	certificate, key := leaf(2, "server")
	e.Client, e.ClientKey = leaf(3, "client")
	e.write("server.pem", key+certificate)
	e.write("ca.pem", e.CA)
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func (e *Ensemble) write(name, text string) {
	require.NoError(e.t, os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600))
}

func (e *Ensemble) key() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(e.t, err)
	return key
}

func (e *Ensemble) sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	require.NoError(e.t, err)
	made, err := x509.ParseCertificate(der)
	require.NoError(e.t, err)
	return made
}

func (e *Ensemble) tlsLines(s *Server) []string {
	auth := "none"
	if e.options.ClientCertificates {
		auth = "need"
	}
	return []string{
		fmt.Sprint("secureClientPort=", s.Port), "secureClientPortAddress=127.0.0.1",
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory", "ssl.clientAuth=" + auth, "ssl.hostnameVerification=false", "ssl.clientHostnameVerification=false",
		"ssl.keyStore.location=" + filepath.Join(e.dir, "server.pem"), "ssl.trustStore.location=" + filepath.Join(e.dir, "ca.pem"),
	}
}
