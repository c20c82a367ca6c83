package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"

	// backdate lets a certificate be valid for clocks that are a little behind.
	backdate = 5 * time.Minute
)

// Pair is a certificate and its key. String and LogValue never show the key.
type Pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// ParsePair reads a certificate and its key from PEM. They must belong together.
func ParsePair(certPEM, keyPEM []byte) (Pair, error) {
	certs, err := ParseCertificates(certPEM)
	if err != nil {
		return Pair{}, err
	}
	block, _ := pem.Decode(keyPEM)
	if block == nil || block.Type != blockKey {
		return Pair{}, errors.New("no private key in PEM form")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		// The parser's own words could repeat parts of the key.
		return Pair{}, errors.New("the private key is not valid PKCS #8")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return Pair{}, fmt.Errorf("the private key is a %T, want ECDSA", parsed)
	}
	if !key.PublicKey.Equal(certs[0].PublicKey) {
		return Pair{}, errors.New("the private key does not belong to the certificate")
	}
	return Pair{cert: certs[0], key: key}, nil
}

// IsZero says that there is no certificate.
func (p Pair) IsZero() bool { return p.cert == nil }

// Certificate is the parsed certificate; it must not be changed.
func (p Pair) Certificate() *x509.Certificate { return p.cert }

// CertPEM is the certificate in PEM form.
func (p Pair) CertPEM() []byte { return encodeCertificate(p.cert) }

// KeyPEM is the key in PEM form, PKCS #8.
func (p Pair) KeyPEM() []byte {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		panic(fmt.Sprintf("pki: a P-256 key cannot be encoded: %v", err))
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: der})
}

// TLS is the pair as crypto/tls wants it.
func (p Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key, Leaf: p.cert}
}

// String names the certificate.
func (p Pair) String() string {
	if p.IsZero() {
		return "no certificate"
	}
	return fmt.Sprintf("certificate %s until %s", p.cert.Subject, p.cert.NotAfter.UTC().Format(time.RFC3339))
}

// GoString is String, so that no verb of fmt shows the key.
func (p Pair) GoString() string { return p.String() }

// RenewAt is when two thirds of the pair's life are over.
func (p Pair) RenewAt() time.Time {
	life := p.cert.NotAfter.Sub(p.cert.NotBefore)
	return p.cert.NotBefore.Add(life * 2 / 3)
}

// ParseCertificates reads all certificates of a PEM text; there must be at
// least one. Blocks of other kinds are left out.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for rest := text; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		if block.Type != blockCertificate {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate in PEM form")
	}
	return certs, nil
}

func encodeCertificate(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: cert.Raw})
}

func encodeCertificates(certs []*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, cert := range certs {
		b.Write(encodeCertificate(cert))
	}
	return b.Bytes()
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// sign makes a certificate for a new key. A zero parent makes it self-signed.
func sign(template *x509.Certificate, parent Pair) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return Pair{}, err
	}
	template.SerialNumber = serial
	issuer, issuerKey := template, key
	if !parent.IsZero() {
		issuer, issuerKey = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		return Pair{}, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, err
	}
	return Pair{cert: cert, key: key}, nil
}
