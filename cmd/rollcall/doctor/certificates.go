package doctor

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// KeepCertificates keeps the certificates of a Secret, which are no secrets.
func (f *Facts) KeepCertificates(secret *corev1.Secret) {
	if f.Certificates == nil {
		f.Certificates = map[string]map[string][]byte{}
	}
	held := map[string][]byte{}
	for _, key := range []string{config.KeyCA, corev1.TLSCertKey} {
		if text := secret.Data[key]; len(text) > 0 {
			held[key] = text
		}
		if text := secret.StringData[key]; text != "" {
			held[key] = []byte(text)
		}
	}
	f.Certificates[id(secret.Namespace, secret.Name)] = held
}

// certificates checks that agents will take the certificates of the servers for right: that the named
// Secret has the certificate of an authority, and that what servers show agrees with it.
func certificates(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		w, known := f.WantOf(set)
		if !known || !w.Told || f.work(set) {
			return nil
		}
		found := f.authority(set, w)
		if slices.ContainsFunc(found, func(one Finding) bool { return one.Severity == Error }) {
			return found
		}
		return slices.Concat(found, f.judged(set, w), f.clientSecret(set, w))
	})
}

// authority examines the Secret with the certificate of the authority.
func (f *Facts) authority(set *appsv1.StatefulSet, w Want) []Finding {
	name := w.Connection.TLS.CASecret
	return f.holds(set, name, config.KeyCA, "the certificate of the authority of its servers", "generic "+name+inNamespace(set)+" --from-file="+config.KeyCA)
}

// clientSecret examines the Secret with the certificate that agents show.
func (f *Facts) clientSecret(set *appsv1.StatefulSet, w Want) []Finding {
	name := w.Connection.TLS.ClientSecret
	return f.holds(set, name, corev1.TLSCertKey, "the certificate of the agents", "tls "+name+inNamespace(set)+" --cert=client.crt --key=client.key")
}

// holds examines a Secret that is named for what it has under a key, and says how to create it. An empty
// name is none.
func (f *Facts) holds(set *appsv1.StatefulSet, name, key, has, create string) []Finding {
	if name == "" {
		return nil
	}
	meta, read := f.secret(set.Namespace, name)
	switch {
	case !read:
		return nil
	case meta == nil:
		return one(Error, "there is no Secret "+id(set.Namespace, name)+" with "+has, "make it: kubectl create secret "+create+" ("+securedPage+")")
	}
	held, read := f.certificatesIn(set, name)
	if !read {
		return nil
	}
	return f.dated(set, name, key, held[key])
}

// dated examines the certificates under a key of a Secret.
func (f *Facts) dated(set *appsv1.StatefulSet, name, key string, text []byte) []Finding {
	of := fmt.Sprintf("key %s of Secret %s", key, id(set.Namespace, name))
	certs, err := pki.ParseCertificates(text)
	switch {
	case len(text) == 0:
		return one(Error, "there is no "+of, "give it that key, with certificates in PEM")
	case err != nil:
		return one(Error, of+" has no certificates that can be read: "+err.Error(), "write certificates in PEM there")
	}
	over := slices.DeleteFunc(slices.Clone(certs), func(c *x509.Certificate) bool { return time.Now().Before(c.NotAfter) })
	switch {
	case len(over) == len(certs):
		return one(Error, fmt.Sprintf("%s has expired: it was valid until %s", of, over[0].NotAfter.UTC().Format(time.DateOnly)), "renew it")
	case len(over) > 0:
		return one(Warning, fmt.Sprintf("%d of %d certificates in %s have expired, the first on %s", len(over), len(certs), of, over[0].NotAfter.UTC().Format(time.DateOnly)), "take them out, if servers show others by now")
	}
	return nil
}

// certificatesIn returns what is known of a Secret's certificates.
func (f *Facts) certificatesIn(set *appsv1.StatefulSet, name string) (map[string][]byte, bool) {
	if held, read := f.Certificates[id(set.Namespace, name)]; read || f.Live != nil {
		return held, read
	}
	for in, held := range f.Certificates {
		at, of, within := strings.Cut(in, "/")
		if !within {
			at, of = "", in
		}
		if of == name && sameNamespace(at, set.Namespace) {
			return held, true
		}
	}
	return nil, false
}

func inNamespace(set *appsv1.StatefulSet) string {
	if set.Namespace == "" {
		return ""
	}
	return " -n " + set.Namespace
}

// judged says whether agents would accept the certificate that servers show: the one that a pod showed,
// or else those in Secrets that pods mount, whose names can be compared at least.
func (f *Facts) judged(set *appsv1.StatefulSet, w Want) []Finding {
	if !w.Connection.TLS.Enabled || w.Connection.TLS.InsecureSkipVerify {
		return nil
	}
	expected := ExpectedName(w.Connection)
	if f.Live != nil {
		if h, asked := f.Live.Heard[set.Name]; asked && h.Certificate != nil {
			return refusedCertificate(h, w.Connection.TLS.CASecret, expected)
		}
	}
	for _, name := range w.Secrets {
		held, _ := f.certificatesIn(set, name)
		certs, err := pki.ParseCertificates(held[corev1.TLSCertKey])
		if err != nil || len(certs) == 0 {
			continue
		}
		if err := certs[0].VerifyHostname(expected); err != nil {
			return one(Warning, fmt.Sprintf("the certificate in Secret %s, which its pods mount, does not name %s, which agents expect", id(set.Namespace, name), expected), namesFix(certs[0], set.Name+"-0"))
		}
		if out := f.dated(set, name, corev1.TLSCertKey, held[corev1.TLSCertKey]); len(out) > 0 {
			return out
		}
	}
	return nil
}

// refusedCertificate says why agents would refuse what a pod showed.
func refusedCertificate(h Heard, ca, expected string) []Finding {
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case h.Distrust == nil:
		return nil
	case errors.As(h.Distrust, &name):
		return one(Error, fmt.Sprintf("the certificate that pod %s shows does not name %s, which agents expect", h.Pod, expected), namesFix(h.Certificate, h.Pod))
	case errors.As(h.Distrust, &invalid) && invalid.Reason == x509.Expired:
		return one(Error, fmt.Sprintf("the certificate that pod %s shows is not valid now: %v", h.Pod, invalid), "renew it")
	case errors.As(h.Distrust, &unknown):
		return one(Error, fmt.Sprintf("no authority in Secret %s has signed the certificate that pod %s shows (its issuer is %q)", ca, h.Pod, h.Certificate.Issuer), "put the certificate of that issuer under ca.crt of the Secret")
	}
	return one(Error, fmt.Sprintf("agents would refuse the certificate that pod %s shows: %v", h.Pod, h.Distrust), "have the server show another one, or correct ca.crt of Secret "+ca)
}

// namesFix says which names may be expected instead; pod stands where a certificate has a wildcard.
func namesFix(c *x509.Certificate, pod string) string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	for i, name := range names {
		if rest, wild := strings.CutPrefix(name, "*."); wild {
			names[i] = pod + "." + rest
		}
	}
	if len(names) == 0 {
		return "it names nothing that can be compared: make one with subject alternative names, such as localhost"
	}
	return "--server-name, or spec.connection.tls.serverName, with a name that it has: " + strings.Join(names, ", ") + "; or add localhost to its names"
}
