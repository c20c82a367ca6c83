package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
)

const (
	// settle is how long both authorities are trusted after the last coordinator was seen
	// that serves a certificate of the former one only.
	settle = RotateOverlap
	// spread is how long an authority is in the registration until all API servers are taken to know it.
	spread = time.Second
	// unsettledLook and settledLook are how long one look at the registration counts, while both
	// authorities are trusted and after.
	unsettledLook = time.Second
	settledLook   = 5 * time.Minute
)

// Webhook keeps the authority of the webhook, which signs nothing else, and says which
// certificate to serve and which authorities the API server is to trust.
//
// Coordinators of versions before serve a certificate of the Keeper's authority, the former
// one, and write that one alone into the registration, when they start and every few minutes.
// While one of them is there, those that know better serve a certificate of the former, too,
// and have the API server trust both; from then on for as long as settle. Nobody remembers
// that: the former is kept in the registration as long as it is needed, and it is not
// brought back.
type Webhook struct {
	keeping
	former *Keeper
	// Earlier says whether a coordinator of a version before is there; false as long as that is not known.
	earlier func() (is, known bool)

	state struct {
		sync.Mutex
		looked      bool
		earlier     bool                 // at the last look
		lastEarlier time.Time            // or when this began
		registered  map[string]time.Time // since when an authority is trusted by the API server, by its key's identifier
	}
}

// NewWebhook makes one that has nothing yet. Earlier says whether a coordinator of a version
// before is there, and whether that is known.
func NewWebhook(client kubernetes.Interface, opts Options, former *Keeper, earlier func() (is, known bool)) (*Webhook, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Webhook{
		keeping: newKeeping(client, opts, SecretWebhook, WebhookProfile(opts.Namespace, opts.Service)),
		former:  former, earlier: earlier,
	}
	w.state.lastEarlier = w.now()
	return w, nil
}

// Bundle is what the registration should have, given what it has; nothing, if that cannot be said yet.
func (w *Webhook) Bundle(registered []byte) []byte {
	own, former := w.Authority(), w.former.Authority()
	earlier, known := w.earlier()
	if !known || former.IsZero() {
		return nil
	}
	if own.IsZero() {
		w.mu.RLock()
		defer w.mu.RUnlock()
		if w.forbidden { // by the roles of a version before: there is none
			return former.Bundle()
		}
		return nil
	}
	now := w.now()
	w.state.Lock()
	defer w.state.Unlock()
	if earlier {
		w.state.lastEarlier = now
	}
	if earlier != w.state.earlier {
		w.state.earlier = earlier
		w.opts.Logger.Info("coordinators of versions that serve the webhook with a certificate of "+SecretAuthority+
			" have come or gone; the API server trusts both authorities as long as one is there, and for a while after", "there", earlier, "while", settle)
	}
	if earlier || trustsAny(registered, former) && now.Sub(w.state.lastEarlier) < settle {
		return slices.Concat(own.Bundle(), former.Bundle())
	}
	return own.Bundle()
}

// Registered is told what the registration has; nothing, if there is none.
func (w *Webhook) Registered(bundle []byte) {
	now := w.now()
	registered := map[string]time.Time{}
	w.state.Lock()
	defer w.state.Unlock()
	for key := range authorities(bundle) {
		since, was := w.state.registered[key]
		switch {
		case was:
			registered[key] = since
		case !w.state.looked: // who knows for how long
			registered[key] = now.Add(-spread)
		default:
			registered[key] = now
		}
	}
	w.state.registered, w.state.looked = registered, true
}

// Look is how long the next look at the registration may wait.
func (w *Webhook) Look() time.Duration {
	former := w.former.Authority()
	earlier, known := w.earlier()
	w.state.Lock()
	defer w.state.Unlock()
	unsettled := !known || earlier || !w.state.looked || former.IsZero()
	if !unsettled {
		for _, cert := range former.trusted() {
			_, trusted := w.state.registered[string(cert.SubjectKeyId)]
			unsettled = unsettled || trusted
		}
	}
	if unsettled {
		return unsettledLook
	}
	return settledLook
}

// Ready says why it is not known yet which certificate to serve.
func (w *Webhook) Ready() error {
	_, known := w.earlier()
	w.state.Lock()
	defer w.state.Unlock()
	if !known || !w.state.looked {
		return errors.New("it is not known yet which authorities the webhook is registered with")
	}
	return nil
}

// TLS is for the webhook: the API server shows no certificate.
func (w *Webhook) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			pair, err := w.serves()
			if err != nil {
				return nil, err
			}
			return serving(pair), nil
		},
	}
}

// serves is the certificate for the next handshake: one that the API server trusts, of the
// webhook's own authority if no coordinator of a version before may have that forgotten at
// any moment.
func (w *Webhook) serves() (Pair, error) {
	var pairs []Pair
	if own, _, err := w.current(0); err == nil {
		pairs = append(pairs, own)
	}
	if former, _, err := w.former.current(profileServer); err == nil {
		pairs = append(pairs, former)
	}
	if len(pairs) == 0 {
		return Pair{}, errNone
	}
	if earlier, known := w.earlier(); earlier || !known {
		slices.Reverse(pairs)
	}
	now := w.now()
	w.state.Lock()
	defer w.state.Unlock()
	for _, pair := range pairs {
		if since, ok := w.state.registered[string(pair.cert.AuthorityKeyId)]; ok && now.Sub(since) >= spread {
			return pair, nil
		}
	}
	return pairs[0], nil
}

// authorities are those of a bundle, by the identifiers of their keys.
func authorities(bundle []byte) map[string]*x509.Certificate {
	found := map[string]*x509.Certificate{}
	certs, err := ParseCertificates(bundle)
	if err != nil {
		return found // not of ours: it is written again
	}
	for _, cert := range certs {
		found[string(cert.SubjectKeyId)] = cert
	}
	return found
}

// trustsAny reports whether the authority, or one that it has followed, is in the bundle.
func trustsAny(bundle []byte, a Authority) bool {
	registered := authorities(bundle)
	return slices.ContainsFunc(a.trusted(), func(cert *x509.Certificate) bool { return registered[string(cert.SubjectKeyId)].Equal(cert) })
}
