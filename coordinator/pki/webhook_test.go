package pki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const webhookName = "rollcall-coordinator.rollcall-system.svc"

func newWebhook(t *testing.T, client kubernetes.Interface) *Webhook {
	t.Helper()
	w, err := NewWebhook(client, Options{Namespace: "rollcall-system", Service: "rollcall-coordinator"})
	require.NoError(t, err)
	return w
}

// poolOf is the API server that has this bundle.
func poolOf(bundle []byte) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	return &tls.Config{RootCAs: pool, ServerName: webhookName, MinVersion: tls.VersionTLS13}
}

// What signs agents, people and coordinators cannot pose as the webhook, and what signs the webhook
// is nobody to them.
func TestWebhookHasAnAuthorityOfItsOwn(t *testing.T) {
	client := fake.NewClientset()
	k := newKeeper(t, client)
	w := newWebhook(t, client)
	require.Empty(t, w.Authority().Bundle())
	_, err := handshake(t, poolOf(nil), w.TLS())
	require.ErrorContains(t, err, "no certificate authority yet")
	require.NoError(t, k.Ensure(t.Context()))
	require.NoError(t, w.Ensure(t.Context()))

	bundle := w.Authority().Bundle()
	require.Equal(t, secretData(t, client, SecretWebhook)["ca.crt"], bundle)
	clientErr, serverErr := handshake(t, poolOf(bundle), w.TLS())
	require.NoError(t, clientErr)
	require.NoError(t, serverErr)

	// A certificate of rollcall-ca with the webhook's name.
	posing, err := k.Authority().Issue(WebhookProfile("rollcall-system", "rollcall-coordinator"), time.Now())
	require.NoError(t, err)
	_, err = posing.Certificate().Verify(x509.VerifyOptions{Roots: poolOf(bundle).RootCAs, DNSName: webhookName})
	require.ErrorContains(t, err, "unknown authority")
	// One of the webhook's authority, as an agent's, a coordinator's, a person's.
	agent, err := w.Authority().Issue(AgentProfile("prod", "search"), time.Now())
	require.NoError(t, err)
	served := tls.ConnectionState{PeerCertificates: []*x509.Certificate{agent.Certificate()}}
	require.ErrorContains(t, k.AgentTLS("prod", "search").VerifyConnection(served), "unknown authority")
	reader, err := w.Authority().Issue(ClientProfile("reader"), time.Now())
	require.NoError(t, err)
	require.ErrorContains(t, k.Refuses([]*x509.Certificate{reader.Certificate()}), "unknown authority")
	require.NotContains(t, string(secretData(t, client, SecretTrust)["ca.crt"]), string(bundle))
	for _, name := range []string{SecretAuthority, SecretWebhook} {
		certs, err := ParseCertificates(secretData(t, client, name)["tls.crt"])
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(certs[0].Subject.CommonName, name+" "), certs[0].Subject)
	}
	require.Equal(t, []string{webhookName}, w.pairs[0].cert.DNSNames)
}

// TestChangeIsSeenWithinASecond: in place of a minute, by each coordinator, and after the
// watch was cut off, too.
func TestChangeIsSeenWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var cut atomic.Pointer[watch.FakeWatcher] // the present watch
		var refused atomic.Bool
		var secret corev1.Secret
		client.PrependWatchReactor("secrets", func(clienttesting.Action) (bool, watch.Interface, error) {
			if refused.Load() {
				return true, nil, errors.New("connection refused")
			}
			w := watch.NewFakeWithChanSize(10, false)
			cut.Store(w)
			return true, w, nil
		})
		var log strings.Builder
		k, err := NewKeeper(client, Options{Namespace: "rollcall-system", Service: "s", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Run(ctx) }()
		time.Sleep(2500 * time.Millisecond) // between two looks
		synctest.Wait()

		// other has somebody else make another authority.
		other := func() []byte {
			fresh, err := NewAuthority(SecretAuthority, time.Now())
			require.NoError(t, err)
			present, err := client.CoreV1().Secrets("rollcall-system").Get(t.Context(), SecretAuthority, metav1.GetOptions{})
			require.NoError(t, err)
			present.Data = fresh.Encode()
			_, err = client.CoreV1().Secrets("rollcall-system").Update(t.Context(), present, metav1.UpdateOptions{})
			require.NoError(t, err)
			return fresh.Bundle()
		}
		within := func(d time.Duration, want []byte) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			require.Equal(t, string(want), string(k.Authority().Bundle()))
		}
		want := other()
		cut.Load().Modify(&secret)
		within(time.Second, want)
		// A watch that ends; what was changed meanwhile is seen with the next one.
		cut.Load().Stop()
		want = other()
		within(time.Second, want)
		require.NotContains(t, log.String(), "WARN", "Kubernetes ends each now and then")
		// No watch: it is said once, and the Secret is read each minute.
		refused.Store(true)
		cut.Load().Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Message: "too old"})
		time.Sleep(5 * time.Second)
		want = other()
		within(time.Minute, want)
		require.Equal(t, 1, strings.Count(log.String(), "cannot be watched"))
		refused.Store(false)
		within(time.Second, want)
		want = other()
		cut.Load().Modify(&secret)
		within(time.Second, want)

		// However often it changes, there are five looks in a second.
		client.ClearActions()
		for range 1000 {
			cut.Load().Modify(&secret)
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		reads := 0
		for _, action := range client.Actions() {
			if get, ok := action.(clienttesting.GetAction); ok && action.GetVerb() == "get" && get.GetName() == SecretAuthority {
				reads++
			}
		}
		require.LessOrEqual(t, reads, 6)
		cancel()
		require.NoError(t, <-ended)
	})
}

// A rotation goes on when its Secret says so, not up to a minute later.
func TestStepsAreTakenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		k := newKeeper(t, client)
		require.NoError(t, k.Ensure(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		time.Sleep(17 * time.Second)
		go func() { ended <- k.Run(ctx) }()
		time.Sleep(29 * time.Second)
		annotate := func(name, value string) {
			patch := []byte(`{"metadata":{"annotations":{"` + name + `":"` + value + `"}}}`)
			_, err := client.CoreV1().Secrets("rollcall-system").Patch(t.Context(), SecretAuthority, types.MergePatchType, patch, metav1.PatchOptions{})
			require.NoError(t, err)
		}
		annotate(AnnotationRotate, "now")
		for i, want := range []string{"step 1 of 3", "step 2 of 3", ""} {
			time.Sleep(time.Second)
			synctest.Wait()
			require.Contains(t, k.Authority().Rotation(), want)
			require.Len(t, k.Authority().trusted(), map[string]int{"": 1}[want]+2*min(len(want), 1))
			// Looks are in no step with the rotation.
			time.Sleep(29 * time.Second)
			annotate("example.com/i", strconv.Itoa(i))
			time.Sleep(RotateOverlap - 30*time.Second)
		}
		cancel()
		require.NoError(t, <-ended)
	})
}
