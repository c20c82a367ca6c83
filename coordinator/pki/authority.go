package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"strings"
	"time"
)

const (
	// AuthorityLife is how long a certificate authority is valid.
	AuthorityLife = 10 * 365 * 24 * time.Hour
	// Overlap is how long the next authority is trusted before it signs anything. It is much longer
	// than a changed Secret takes to reach every pod, and certificates of the old authority are
	// renewed long before it ends.
	Overlap = 7 * 24 * time.Hour
	// RotateOverlap is the same for a rotation that a person asked for, and for how
	// long the former authority is trusted afterwards. The kubelet brings a changed
	// Secret to a pod within about 90 seconds.
	RotateOverlap = 5 * time.Minute
)

// Authority signs certificates. It is a value; Advance returns the next one.
//
// Invariant: a holder of an Authority's bundle trusts every certificate that this one and its
// direct successors and predecessors issue, as long as Advance is called at least once in every
// overlap (TestOverlap, TestRotate).
type Authority struct {
	signer Pair
	// next is trusted already and signs later. It is zero most of the time.
	next Pair
	// signs is when next signs. It is zero if an Overlap after it was made.
	signs time.Time
	// former signed before and are trusted until they end, or until drops.
	former []*x509.Certificate
	// drops is when former ones are no longer trusted though they have not ended. It is zero unless
	// a person asked for a rotation.
	drops time.Time
}

// NewAuthority creates an authority that is valid from now on. The name is for people.
func NewAuthority(name string, now time.Time) (Authority, error) {
	signer, err := newSigner(name, now)
	if err != nil {
		return Authority{}, fmt.Errorf("make a certificate authority: %w", err)
	}
	return Authority{signer: signer}, nil
}

func newSigner(name string, now time.Time) (Pair, error) {
	return sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: name + " " + now.UTC().Format("2006-01-02")},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(AuthorityLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, Pair{})
}

// name is what the signer's is, without the day.
func (a Authority) name() string {
	name, _, _ := strings.Cut(a.signer.cert.Subject.CommonName, " ")
	return name
}

// IsZero reports whether there is no authority.
func (a Authority) IsZero() bool { return a.signer.IsZero() }

// Advance returns the authority as it should be at the time now, and whether that differs: after
// two thirds of its life a next one is created and published, after the overlap that one signs, and
// former ones are dropped when they end.
func (a Authority) Advance(now time.Time) (Authority, bool, error) {
	changed := false
	if a.next.IsZero() && !now.Before(a.signer.RenewAt()) {
		next, err := newSigner(a.name(), now)
		if err != nil {
			return a, false, fmt.Errorf("make the next certificate authority: %w", err)
		}
		a.next, changed = next, true
	}
	if !a.next.IsZero() && !now.Before(a.nextSigns()) {
		a.former = append([]*x509.Certificate{a.signer.cert}, a.former...)
		a.signer, a.next, a.signs, changed = a.next, Pair{}, time.Time{}, true
		if !a.drops.IsZero() {
			a.drops = now.Add(RotateOverlap)
		}
	}
	if a.next.IsZero() && !a.drops.IsZero() && !now.Before(a.drops) {
		a.former, a.drops, changed = nil, time.Time{}, true
	}
	var kept []*x509.Certificate
	for _, cert := range a.former {
		if now.Before(cert.NotAfter) {
			kept = append(kept, cert)
		}
	}
	if len(kept) != len(a.former) {
		changed = true
	}
	a.former = kept
	return a, changed, nil
}

// Rotate begins a rotation that does not wait for the signer's age: the next authority is published
// now and signs after a RotateOverlap; another one later all former authorities are no longer
// trusted.
func (a Authority) Rotate(now time.Time) (Authority, error) {
	if a.next.IsZero() {
		next, err := newSigner(a.name(), now)
		if err != nil {
			return a, fmt.Errorf("make the next certificate authority: %w", err)
		}
		a.next = next
	}
	a.signs = now.Add(RotateOverlap)
	a.drops = a.signs.Add(RotateOverlap)
	return a, nil
}

// nextSigns returns when next becomes the signer.
func (a Authority) nextSigns() time.Time {
	if a.signs.IsZero() {
		return a.next.cert.NotBefore.Add(Overlap)
	}
	return a.signs
}

// Step returns when Advance has something to do for a rotation that is under way. It returns zero
// if none is.
func (a Authority) Step() time.Time {
	if !a.next.IsZero() {
		return a.nextSigns()
	}
	return a.drops
}

// Rotation returns the progress of a rotation, for people. It is empty if none is under way.
func (a Authority) Rotation() string {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	switch {
	case !a.next.IsZero() && !a.drops.IsZero():
		return "step 1 of 3: the next authority is trusted, and signs from " + at(a.nextSigns())
	case !a.next.IsZero():
		return "the next authority is trusted, and signs from " + at(a.nextSigns())
	case !a.drops.IsZero():
		return "step 2 of 3: the next authority signs, and the former is trusted until " + at(a.drops)
	}
	return ""
}

// trusted returns all certificates of the bundle, the signer's first.
func (a Authority) trusted() []*x509.Certificate {
	if a.IsZero() {
		return nil
	}
	certs := []*x509.Certificate{a.signer.cert}
	if !a.next.IsZero() {
		certs = append(certs, a.next.cert)
	}
	return append(certs, a.former...)
}

// Bundle returns what others need to trust what this authority issues, in PEM.
func (a Authority) Bundle() []byte { return encodeCertificates(a.trusted()) }

// Pool returns the Bundle as an x509.CertPool.
func (a Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, cert := range a.trusted() {
		pool.AddCert(cert)
	}
	return pool
}

// SignedBySigner reports whether the current signer issued the certificate. A certificate of a
// former signer is still trusted, but due for renewal.
func (a Authority) SignedBySigner(cert *x509.Certificate) bool {
	return cert.CheckSignatureFrom(a.signer.cert) == nil
}

// NotAfter returns when the current signer ends.
func (a Authority) NotAfter() time.Time { return a.signer.cert.NotAfter }

// Keys of the Secret in which an authority is kept.
const (
	keySignerCert = "tls.crt"
	keySignerKey  = "tls.key"
	keyNextCert   = "next.crt"
	keyNextKey    = "next.key"
	keyBundle     = "ca.crt"
	// RFC 3339; only while a rotation that a person asked for is under way.
	keySigns = "next.signs"
	keyDrops = "former.until"
)

// Encode returns the authority as the data of a Secret.
func (a Authority) Encode() map[string][]byte {
	data := map[string][]byte{
		keySignerCert: a.signer.CertPEM(),
		keySignerKey:  a.signer.KeyPEM(),
		keyBundle:     a.Bundle(),
	}
	if !a.next.IsZero() {
		data[keyNextCert] = a.next.CertPEM()
		data[keyNextKey] = a.next.KeyPEM()
	}
	for key, at := range map[string]time.Time{keySigns: a.signs, keyDrops: a.drops} {
		if !at.IsZero() {
			data[key] = []byte(at.UTC().Format(time.RFC3339))
		}
	}
	return data
}

// DecodeAuthority reads what Encode wrote. Errors name the key of the Secret.
func DecodeAuthority(data map[string][]byte) (Authority, error) {
	var a Authority
	var err error
	if a.signer, err = ParsePair(data[keySignerCert], data[keySignerKey]); err != nil {
		return Authority{}, fmt.Errorf("keys %s and %s: %w", keySignerCert, keySignerKey, err)
	}
	if !a.signer.cert.IsCA {
		return Authority{}, fmt.Errorf("key %s: not the certificate of an authority", keySignerCert)
	}
	if len(data[keyNextCert]) > 0 {
		if a.next, err = ParsePair(data[keyNextCert], data[keyNextKey]); err != nil {
			return Authority{}, fmt.Errorf("keys %s and %s: %w", keyNextCert, keyNextKey, err)
		}
	}
	for key, at := range map[string]*time.Time{keySigns: &a.signs, keyDrops: &a.drops} {
		if len(data[key]) == 0 {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, string(data[key])); err != nil {
			return Authority{}, fmt.Errorf("key %s: must be a time as 2006-01-02T15:04:05Z: %w", key, err)
		}
	}
	bundle, err := ParseCertificates(data[keyBundle])
	if err != nil {
		return Authority{}, fmt.Errorf("key %s: %w", keyBundle, err)
	}
	for _, cert := range bundle {
		if cert.Equal(a.signer.cert) || (!a.next.IsZero() && cert.Equal(a.next.cert)) {
			continue
		}
		a.former = append(a.former, cert)
	}
	return a, nil
}
