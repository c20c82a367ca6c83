package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// installation has coordinators that come and go. An API server shakes hands with each
// webhook, ten times a second around each change.
type installation struct {
	t      *testing.T
	client *fake.Clientset
	known  []byte // what the API server has heard of its registration, 300 ms late
	later  [][]byte
	hooks  map[string]*tls.Config // of those that run
	ends   map[string]func()
	failed []string
	shaken int
}

func newInstallation(t *testing.T) *installation {
	v := &installation{t: t, hooks: map[string]*tls.Config{}, ends: map[string]func(){}}
	v.client = fake.NewClientset(&admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: inject.ConfigurationName},
		Webhooks:   []admissionv1.MutatingWebhook{{Name: "pods.rollcall.dev"}},
	})
	return v
}

func (v *installation) registered() []byte {
	conf, err := v.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(v.t.Context(), inject.ConfigurationName, metav1.GetOptions{})
	require.NoError(v.t, err)
	return conf.Webhooks[0].ClientConfig.CABundle
}

// start starts a coordinator, and returns when it is ready.
func (v *installation) start(name string) {
	ctx, cancel := context.WithCancel(v.t.Context())
	hook, err := pki.NewWebhook(v.client, pki.Options{Namespace: "rollcall-system", Service: "rollcall-coordinator", Logger: quiet})
	require.NoError(v.t, err)
	registration := register(v.client, hook, quiet)
	var running sync.WaitGroup
	for _, part := range []func(context.Context) error{
		func(ctx context.Context) error { return keepCertificates(ctx, hook, quiet) },
		registration.Run,
	} {
		running.Go(func() {
			if err := part(ctx); err != nil {
				v.t.Error(err)
			}
		})
	}
	require.True(v.t, waitUntil(ctx, registration.Settled))
	v.hooks[name] = hook.TLS()
	v.ends[name] = func() {
		cancel()
		running.Wait()
		delete(v.ends, name)
		delete(v.hooks, name)
	}
}

// pass lets time go by. Whatever the API server calls must be answered by a certificate that it trusts.
func (v *installation) pass(d time.Duration) {
	step := 100 * time.Millisecond
	if d > time.Minute {
		step = 700 * time.Millisecond
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(step)
		synctest.Wait()
		v.later = append(v.later, v.registered())
		if late := int(300 * time.Millisecond / step); len(v.later) > late {
			v.known, v.later = v.later[len(v.later)-1-late], v.later[len(v.later)-late:]
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(v.known)
		for _, name := range slices.Sorted(maps.Keys(v.hooks)) {
			v.shaken++
			if err := shake(pool, v.hooks[name]); err != nil {
				v.failed = append(v.failed, fmt.Sprintf("%s at %s: %v", name, time.Now().Format(time.TimeOnly), err))
			}
		}
	}
}

// shake makes a connection and then judges the certificate: who refuses in the middle of a handshake would
// wait for the other end of a pipe.
func shake(pool *x509.CertPool, server *tls.Config) error {
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		defer far.Close()
		_ = tls.Server(far, server).Handshake()
	}()
	conn := tls.Client(near, &tls.Config{InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		return err
	}
	_, err := conn.ConnectionState().PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: "rollcall-coordinator.rollcall-system.svc"})
	return err
}

// replace is a Deployment's rollout, of one coordinator.
func (v *installation) replace(old, fresh string) {
	v.start(fresh)
	v.pass(3 * time.Second)
	v.ends[old]()
	v.pass(time.Second)
}

func (v *installation) stop() {
	for _, end := range v.ends {
		end()
	}
}

func (v *installation) bundle() []byte {
	secret, err := v.client.CoreV1().Secrets("rollcall-system").Get(v.t.Context(), pki.SecretWebhook, metav1.GetOptions{})
	require.NoError(v.t, err)
	return secret.Data["ca.crt"]
}

// TestWebhookIsTrustedThroughRotations: at no moment does the API server meet a certificate
// that it does not trust, while coordinators are replaced one by one and the authority rotates.
func TestWebhookIsTrustedThroughRotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newInstallation(t)
		defer v.stop()
		v.start("a")
		v.start("b")
		time.Sleep(time.Second)
		v.known = v.registered()
		v.pass(10 * time.Second)
		require.Equal(t, v.bundle(), v.registered())
		v.replace("a", "c")
		v.rotate()
		v.replace("b", "d")
		v.rotate()
		require.Empty(t, v.failed[:min(len(v.failed), 10)], "%d of %d handshakes", len(v.failed), v.shaken)
		t.Logf("%d handshakes", v.shaken)
	})
}

func (v *installation) rotate() {
	before := v.bundle()
	_, err := v.client.CoreV1().Secrets("rollcall-system").Patch(v.t.Context(), pki.SecretWebhook, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"rollcall.dev/rotate":"`+time.Now().Format(time.RFC3339)+`"}}}`), metav1.PatchOptions{})
	require.NoError(v.t, err)
	for range 2 {
		v.pass(pki.RotateOverlap - 10*time.Second)
		v.pass(20 * time.Second) // in which the next step is taken
		require.Equal(v.t, v.bundle(), v.registered())
	}
	require.NotEqual(v.t, before, v.bundle())
}
