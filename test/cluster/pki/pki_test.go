package pki

import (
	"crypto/x509"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func at(now time.Time) func() time.Time { return func() time.Time { return now } }

func TestCertificatesVerifyAndStay(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(dir, at(noon))
	require.NoError(t, err)
	r := Request{
		Name: "api", User: "kube-apiserver", Groups: []string{"g"},
		Hosts: []string{"kubernetes"}, IPs: []netip.Addr{netip.MustParseAddr("10.96.0.1")},
	}
	require.NoError(t, a.Ensure(r))
	cert, _, err := a.read("api")
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	for _, host := range []string{"kubernetes", "10.96.0.1"} {
		_, err = cert.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: noon})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"g"}, cert.Subject.Organization)

	before, err := os.ReadFile(a.Path("api.crt"))
	require.NoError(t, err)
	again, err := Open(dir, at(noon.Add(time.Hour)))
	require.NoError(t, err)
	require.NoError(t, again.Ensure(r))
	after, err := os.ReadFile(a.Path("api.crt"))
	require.NoError(t, err)
	require.Equal(t, before, after, "a certificate that fits is kept")
}

func TestCertificatesAreMadeAnewWhenTheyDoNotFit(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(dir, at(noon))
	require.NoError(t, err)
	r := Request{Name: "n", User: "u", Hosts: []string{"a"}}
	require.NoError(t, a.Ensure(r))
	read := func() string {
		b, err := os.ReadFile(a.Path("n.crt"))
		require.NoError(t, err)
		return string(b)
	}
	first := read()
	r.Hosts = []string{"a", "b"}
	require.NoError(t, a.Ensure(r))
	second := read()
	require.NotEqual(t, first, second, "another host")

	late, err := Open(dir, at(noon.Add(validFor-time.Minute)))
	require.NoError(t, err)
	require.NoError(t, late.Ensure(r))
	require.NotEqual(t, second, read(), "about to expire")
}

func TestKeysAreForTheOwnerOnly(t *testing.T) {
	a, err := Open(t.TempDir(), at(noon))
	require.NoError(t, err)
	require.NoError(t, a.EnsureKey("sa"))
	for _, f := range []string{"ca.key", "sa.key"} {
		st, err := os.Stat(a.Path(f))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	}
}

func TestKubeconfigNeedsItsCertificate(t *testing.T) {
	a, err := Open(t.TempDir(), at(noon))
	require.NoError(t, err)
	_, err = a.Kubeconfig("c", "https://x", "admin")
	require.ErrorContains(t, err, "kubeconfig for admin")
	require.NoError(t, a.Ensure(Request{Name: "admin", User: "admin"}))
	k, err := a.Kubeconfig("c", "https://x", "admin")
	require.NoError(t, err)
	require.Contains(t, string(k), "server: https://x\n")
	require.Contains(t, string(k), "current-context: c\n")
}
