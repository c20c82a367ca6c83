package main

import (
	"bytes"
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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// versions is an installation in which coordinators of this version and of the previous one come
// and go. An API server does a handshake with each webhook ten times a second around each change.
type versions struct {
	t      *testing.T
	client *fake.Clientset
	opts   options
	known  []byte // what the API server has heard of its registration, 300 ms late
	later  [][]byte
	hooks  map[string]*tls.Config // of those that run
	ends   map[string]func()
	failed []string
	shaken int
}

func newVersions(t *testing.T) *versions {
	v := &versions{t: t, opts: options{namespace: "rollcall-system", service: "rollcall-coordinator"}, hooks: map[string]*tls.Config{}, ends: map[string]func(){}}
	v.client = fake.NewClientset(&admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: inject.ConfigurationName},
		Webhooks:   []admissionv1.MutatingWebhook{{Name: "pods.rollcall.dev"}},
	})
	return v
}

func (v *versions) registered() []byte {
	conf, err := v.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(v.t.Context(), inject.ConfigurationName, metav1.GetOptions{})
	require.NoError(v.t, err)
	return conf.Webhooks[0].ClientConfig.CABundle
}

// pod makes the pod of a coordinator, or of one of the version before.
func (v *versions) pod(name string, before bool) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: v.opts.namespace,
		Labels:      map[string]string{"app.kubernetes.io/name": "rollcall", "app.kubernetes.io/component": "coordinator"},
		Annotations: map[string]string{inject.AnnotationAuthority: pki.SecretWebhook}}}
	if before {
		pod.Annotations = nil
	}
	_, err := v.client.CoreV1().Pods(v.opts.namespace).Create(v.t.Context(), pod, metav1.CreateOptions{})
	require.NoError(v.t, err)
}

// start starts the program of a pod.
func (v *versions) start(name string, before bool) {
	ctx, cancel := context.WithCancel(v.t.Context())
	keeper, err := pki.NewKeeper(v.client, pki.Options{Namespace: v.opts.namespace, Service: v.opts.service, Logger: quiet})
	require.NoError(v.t, err)
	var running sync.WaitGroup
	run := func(part func(context.Context) error) {
		running.Go(func() {
			if err := part(ctx); err != nil {
				v.t.Error(err)
			}
		})
	}
	run(func(ctx context.Context) error { return keepCertificates(ctx, keeper, quiet) })
	if before {
		// It serves a certificate of rollcall-ca, and writes that into the registration, when it starts and each 5 minutes.
		run(func(ctx context.Context) error {
			for ctx.Err() == nil {
				if authority := keeper.Authority(); !authority.IsZero() {
					v.write(authority.Bundle())
					wait(ctx, 5*time.Minute)
				}
				wait(ctx, 50*time.Millisecond)
			}
			return nil
		})
		v.hooks[name] = keeper.GateTLS()
	} else {
		hook, err := newHook(v.client, v.opts, keeper, quiet)
		require.NoError(v.t, err)
		run(func(ctx context.Context) error { return keepCertificates(ctx, hook.keeper, quiet) })
		run(hook.coordinators.Run)
		run(func(ctx context.Context) error { return hook.register(ctx, keeper) })
		require.True(v.t, waitUntil(ctx, func() bool { return hook.keeper.Ready() == nil && !keeper.Authority().IsZero() }))
		v.hooks[name] = hook.keeper.TLS()
	}
	v.ends[name] = func() {
		cancel()
		running.Wait()
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (v *versions) write(bundle []byte) {
	configurations := v.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	conf, err := configurations.Get(v.t.Context(), inject.ConfigurationName, metav1.GetOptions{})
	if err == nil && !bytes.Equal(conf.Webhooks[0].ClientConfig.CABundle, bundle) {
		conf.Webhooks[0].ClientConfig.CABundle = bundle
		_, err = configurations.Update(v.t.Context(), conf, metav1.UpdateOptions{})
	}
	if err != nil {
		v.t.Error(err)
	}
}

// end removes a coordinator. It stops serving a moment before its pod is gone.
func (v *versions) end(name string) {
	v.ends[name]()
	delete(v.ends, name)
	delete(v.hooks, name)
	v.pass(time.Second)
	require.NoError(v.t, v.client.CoreV1().Pods(v.opts.namespace).Delete(v.t.Context(), name, metav1.DeleteOptions{}))
}

// pass lets time pass. Every webhook that the API server calls must have a certificate that it
// trusts.
func (v *versions) pass(d time.Duration) {
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

// shake makes a connection and checks the certificate afterwards: refusing in the middle of a
// handshake would wait for the other end of a pipe.
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
func (v *versions) replace(old, fresh string, before bool) {
	v.pod(fresh, before)
	v.pass(2 * time.Second) // it is scheduled and started
	v.start(fresh, before)
	v.pass(3 * time.Second) // it gets ready
	v.end(old)
}

func (v *versions) stop() {
	for _, end := range v.ends {
		end()
	}
}

func (v *versions) bundleOf(secrets ...string) (all []byte) {
	for _, name := range secrets {
		secret, err := v.client.CoreV1().Secrets(v.opts.namespace).Get(v.t.Context(), name, metav1.GetOptions{})
		require.NoError(v.t, err)
		all = append(all, secret.Data["ca.crt"]...)
	}
	return all
}

// TestWebhookIsTrustedThroughUpgradeAndRollback checks that the API server never meets a
// certificate that it does not trust, while coordinators of the version before, which know one
// authority only, are replaced one by one, and the reverse; nor while either authority rotates.
func TestWebhookIsTrustedThroughUpgradeAndRollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVersions(t)
		defer v.stop()
		for _, name := range []string{"a", "b"} {
			v.pod(name, true)
			v.start(name, true)
		}
		time.Sleep(time.Second)
		v.known = v.registered()
		v.pass(10 * time.Second)
		require.Equal(t, v.bundleOf(pki.SecretAuthority), v.registered())

		v.replace("a", "c", false)
		require.Equal(t, v.bundleOf(pki.SecretWebhook, pki.SecretAuthority), v.registered())
		v.pass(6 * time.Minute) // the other one is in no hurry, and writes what it knows
		v.replace("b", "d", false)
		v.pass(4 * time.Minute)
		require.Equal(t, v.bundleOf(pki.SecretWebhook, pki.SecretAuthority), v.registered(), "somebody may not know yet")
		v.pass(2 * time.Minute)
		require.Equal(t, v.bundleOf(pki.SecretWebhook), v.registered(), "rollcall-ca is trusted for the webhook no more")

		v.rotate(pki.SecretWebhook)
		require.Equal(t, v.bundleOf(pki.SecretWebhook), v.registered())
		v.rotate(pki.SecretAuthority)
		require.Equal(t, v.bundleOf(pki.SecretWebhook), v.registered())

		v.replace("c", "e", true)
		v.pass(6 * time.Minute)
		v.replace("d", "f", true)
		v.pass(6 * time.Minute)
		require.Equal(t, v.bundleOf(pki.SecretAuthority), v.registered())

		v.replace("e", "g", false)
		v.replace("f", "h", false)
		v.pass(6 * time.Minute)
		require.Equal(t, v.bundleOf(pki.SecretWebhook), v.registered())
		require.Empty(t, v.failed[:min(len(v.failed), 10)], "%d of %d handshakes", len(v.failed), v.shaken)
		t.Logf("%d handshakes", v.shaken)
	})
}

func (v *versions) rotate(name string) {
	before := v.bundleOf(name)
	_, err := v.client.CoreV1().Secrets(v.opts.namespace).Patch(v.t.Context(), name, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"rollcall.dev/rotate":"now"}}}`), metav1.PatchOptions{})
	require.NoError(v.t, err)
	v.pass(12 * time.Minute)
	require.NotEqual(v.t, before, v.bundleOf(name))
}
