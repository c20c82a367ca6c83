// Package pki makes the keys and certificates of a cluster, once: what is there and fits is kept, so that a second
// `up` does not lock anybody out.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	validFor    = 10 * 365 * 24 * time.Hour
	renewBefore = 24 * time.Hour
)

// Authority signs the certificates of one cluster and keeps them as NAME.crt and NAME.key in a folder.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
	now  func() time.Time
}

// Request describes a certificate.
type Request struct {
	Name   string // file name without extension
	User   string // common name
	Groups []string
	Hosts  []string     // names that a server answers to; with IPs, makes it a server certificate
	IPs    []netip.Addr // addresses that a server answers to
}

// Open gives the authority whose files are in dir, making it when there is none.
func Open(dir string, now func() time.Time) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &Authority{dir: dir, now: now}
	cert, key, err := a.read("ca")
	if errors.Is(err, os.ErrNotExist) {
		cert, key, err = a.issue(Request{Name: "ca", User: "rollcall-cluster"}, nil, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	a.cert, a.key = cert, key
	return a, nil
}

// Ensure makes the certificate unless the one on disk says the same and is valid for a while.
func (a *Authority) Ensure(r Request) error {
	cert, _, err := a.read(r.Name)
	if err == nil && a.fits(cert, r) {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("certificate %s: %w", r.Name, err)
	}
	if _, _, err := a.issue(r, a.cert, a.key); err != nil {
		return fmt.Errorf("certificate %s: %w", r.Name, err)
	}
	return nil
}

// EnsureKey makes a bare key pair: NAME.key and NAME.pub.
func (a *Authority) EnsureKey(name string) error {
	if _, err := os.Stat(a.Path(name + ".pub")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := a.writeKey(name, key); err != nil {
		return err
	}
	pub, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return writePEM(a.Path(name+".pub"), "PUBLIC KEY", pub, 0o644)
}

// Path is a file of the authority.
func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) fits(c *x509.Certificate, r Request) bool {
	if c.CheckSignatureFrom(a.cert) != nil || a.now().Add(renewBefore).After(c.NotAfter) {
		return false
	}
	ips := func(in []net.IP) (out []string) {
		for _, ip := range in {
			out = append(out, ip.String())
		}
		return out
	}
	return c.Subject.CommonName == r.User && slices.Equal(c.Subject.Organization, r.Groups) &&
		slices.Equal(c.DNSNames, r.Hosts) && slices.Equal(ips(c.IPAddresses), ips(netIPs(r.IPs)))
}

// issue signs with the parent, or makes an authority when there is none.
func (a *Authority) issue(r Request, parent *x509.Certificate, signer crypto.Signer) (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: r.User, Organization: r.Groups},
		NotBefore:    a.now().Add(-time.Hour), // clocks of one machine, yet tests may move theirs
		NotAfter:     a.now().Add(validFor),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		DNSNames:     r.Hosts,
		IPAddresses:  netIPs(r.IPs),
	}
	if len(r.Hosts)+len(r.IPs) > 0 {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if parent == nil {
		parent, signer = t, key
		t.IsCA, t.BasicConstraintsValid = true, true
		t.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
		t.ExtKeyUsage = nil
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	// The key first: a certificate on disk says that its key is there too.
	if err := a.writeKey(r.Name, key); err != nil {
		return nil, nil, err
	}
	return cert, key, writePEM(a.Path(r.Name+".crt"), "CERTIFICATE", der, 0o644)
}

func (a *Authority) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(a.Path(name+".key"), "EC PRIVATE KEY", der, 0o600)
}

func (a *Authority) read(name string) (*x509.Certificate, crypto.Signer, error) {
	c, err := readPEM(a.Path(name + ".crt"))
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(c)
	if err != nil {
		return nil, nil, err
	}
	k, err := readPEM(a.Path(name + ".key"))
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(k)
	return cert, key, err
}

func readPEM(file string) ([]byte, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", file)
	}
	return block.Bytes, nil
}

func writePEM(file, kind string, der []byte, mode os.FileMode) error {
	next := file + ".next"
	if err := os.WriteFile(next, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
		return err
	}
	return os.Rename(next, file)
}

func netIPs(in []netip.Addr) (out []net.IP) {
	for _, a := range in {
		out = append(out, net.IP(a.AsSlice()))
	}
	return out
}
