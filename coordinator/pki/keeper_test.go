package pki

import (
	"context"
	"crypto/tls"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rollcall-dev/rollcall/agent/config"
)

func newKeeper(t *testing.T, client kubernetes.Interface) *Keeper {
	t.Helper()
	k, err := NewKeeper(client, Options{Namespace: "rollcall-system", Service: "rollcall-coordinator"})
	require.NoError(t, err)
	return k
}

func secretData(t *testing.T, client kubernetes.Interface, name string) map[string][]byte {
	t.Helper()
	secret, err := client.CoreV1().Secrets("rollcall-system").Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return secret.Data
}

func readerPair(t *testing.T, client kubernetes.Interface) Pair {
	t.Helper()
	data := secretData(t, client, SecretReader)
	pair, err := ParsePair(data[config.KeyCert], data[config.KeyKey])
	require.NoError(t, err)
	return pair
}

// Any number of coordinators that start at once end up with one authority.
func TestReplicasAgree(t *testing.T) {
	client := fake.NewClientset()
	keepers := make([]*Keeper, 8)
	var wg sync.WaitGroup
	for i := range keepers {
		keepers[i] = newKeeper(t, client)
		wg.Go(func() {
			if err := keepers[i].Ensure(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keepers {
		require.Equal(t, keepers[0].Authority().Bundle(), k.Authority().Bundle())
	}
	require.Equal(t, keepers[0].Authority().Bundle(), secretData(t, client, SecretAuthority)["ca.crt"])
}

func TestKeeperHandshakes(t *testing.T) {
	client := fake.NewClientset()
	k := newKeeper(t, client)

	_, err := handshake(t, &tls.Config{InsecureSkipVerify: true}, k.GateTLS())
	require.ErrorContains(t, err, "no certificate authority yet")

	require.NoError(t, k.Ensure(t.Context()))
	pool := k.Authority().Pool()

	// Agents: the server's certificate comes from the Secret of their pods.
	pair, err := k.Authority().Issue(AgentProfile("prod", "search"), time.Now())
	require.NoError(t, err)
	agent := &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	clientErr, serverErr := handshake(t, k.AgentTLS("prod", "search"), agent)
	require.NoError(t, clientErr)
	require.NoError(t, serverErr)
	clientErr, _ = handshake(t, k.AgentTLS("prod", "other"), agent)
	require.ErrorContains(t, clientErr, "the server is not other.prod.agent.rollcall")

	// People.
	reader := &tls.Config{RootCAs: pool, ServerName: CoordinatorName, Certificates: []tls.Certificate{readerPair(t, client).TLS()}}
	clientErr, serverErr = handshake(t, reader, k.ServerTLS())
	require.NoError(t, clientErr)
	require.NoError(t, serverErr)

	// Nobody without a role, nobody without a certificate.
	odd, err := k.Authority().Issue(ClientProfile("gardener"), time.Now())
	require.NoError(t, err)
	_, serverErr = handshake(t, &tls.Config{RootCAs: pool, ServerName: CoordinatorName, Certificates: []tls.Certificate{odd.TLS()}}, k.ServerTLS())
	require.ErrorContains(t, serverErr, "none of the roles")
	_, serverErr = handshake(t, &tls.Config{RootCAs: pool, ServerName: CoordinatorName, Certificates: []tls.Certificate{pair.TLS()}}, k.ServerTLS())
	require.ErrorContains(t, serverErr, "none of the roles", "an agent's")
	anonymous := &tls.Config{RootCAs: pool, ServerName: "rollcall-coordinator.rollcall-system.svc"}
	_, serverErr = handshake(t, anonymous, k.ServerTLS())
	require.ErrorContains(t, serverErr, "didn't provide a certificate")
}

// Configurations that were handed out once go on working through renewals and a change of
// authority.
func TestRenewalWithoutRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		registry := prometheus.NewPedanticRegistry()
		opts := Options{Namespace: "rollcall-system", Service: "rollcall-coordinator", Interval: 24 * time.Hour}
		k, err := NewKeeper(client, opts)
		require.NoError(t, err)
		hook := newWebhook(t, client)
		registry.MustRegister(NewExpiry(k, hook))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := k.Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		require.Equal(t, 3, testutil.CollectAndCount(registry, "rollcall_certificate_expiry_timestamp_seconds"))
		require.NoError(t, hook.Ensure(ctx))
		require.Equal(t, 5, testutil.CollectAndCount(registry, "rollcall_certificate_expiry_timestamp_seconds"))

		server := k.ServerTLS()
		dial := k.clientTLS(CoordinatorName)
		first, reader := k.Authority(), readerPair(t, client)
		changed := k.Changed()

		time.Sleep(LeafLife)
		synctest.Wait()
		require.NotEqual(t, reader.CertPEM(), readerPair(t, client).CertPEM(), "the readers' certificate is renewed")
		require.Equal(t, first.Bundle(), k.Authority().Bundle())

		for range 8 {
			time.Sleep(AuthorityLife / 8)
			synctest.Wait()
			clientErr, serverErr := handshake(t, dial, server)
			require.NoError(t, clientErr)
			require.NoError(t, serverErr)
			require.Equal(t, k.Authority().Bundle(), secretData(t, client, SecretReader)["ca.crt"])
		}
		<-changed
		require.NotEqual(t, first.signer.CertPEM(), k.Authority().signer.CertPEM())
		cancel()
		<-ended
	})
}

// Two coordinators go through it together, and once.
func TestRotationIsAskedForByAnnotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		keepers := []*Keeper{newKeeper(t, client), newKeeper(t, client)}
		for _, k := range keepers {
			running.Go(func() {
				if err := k.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		first := keepers[0].Authority()
		ask := func(value string) {
			patch := []byte(`{"metadata":{"annotations":{"rollcall.dev/rotate":"` + value + `"}}}`)
			_, err := client.CoreV1().Secrets("rollcall-system").Patch(t.Context(), SecretAuthority, types.MergePatchType, patch, metav1.PatchOptions{})
			require.NoError(t, err)
		}
		rotation := func() string {
			secret, err := client.CoreV1().Secrets("rollcall-system").Get(t.Context(), SecretAuthority, metav1.GetOptions{})
			require.NoError(t, err)
			return secret.Annotations[AnnotationRotation]
		}
		ask("2026-11-23")
		server, dial := keepers[0].ServerTLS(), keepers[1].clientTLS(CoordinatorName)
		for range 2*int(RotateOverlap/(30*time.Second)) + 8 {
			clientErr, serverErr := handshake(t, dial, server)
			require.NoError(t, clientErr, rotation())
			require.NoError(t, serverErr, rotation())
			time.Sleep(30 * time.Second)
			synctest.Wait()
		}
		require.Equal(t, "done", rotation())
		second := keepers[0].Authority()
		require.NotEqual(t, first.Bundle(), second.Bundle())
		require.Len(t, second.trusted(), 1)
		require.Equal(t, second.Bundle(), keepers[1].Authority().Bundle())
		require.Equal(t, second.Bundle(), secretData(t, client, SecretReader)["ca.crt"])

		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, second.Bundle(), keepers[0].Authority().Bundle(), "the same value asks once")
		ask("again")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Contains(t, rotation(), "step 1 of 3")
		cancel()
		running.Wait()
	})
}

func TestForeignReaderSecretIsLeftAlone(t *testing.T) {
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: SecretReader, Namespace: "rollcall-system"},
		Data:       map[string][]byte{"mine": []byte("x")},
	}
	client := fake.NewClientset(foreign)
	err := newKeeper(t, client).Ensure(t.Context())
	require.ErrorIs(t, err, ErrForeign)
	require.Equal(t, foreign.Data, secretData(t, client, SecretReader))
}

func TestBrokenAuthorityIsNamed(t *testing.T) {
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SecretAuthority, Namespace: "rollcall-system"}})
	err := newKeeper(t, client).Ensure(t.Context())
	require.ErrorContains(t, err, "secret rollcall-system/rollcall-ca: keys tls.crt and tls.key: no certificate")
}

func TestRenewKeepsOtherKeys(t *testing.T) {
	a := newAuthority(t, epoch)
	data, changed, err := Renew(map[string][]byte{"gossip.key": []byte("k")}, a, ClientProfile("reader"), epoch)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, []byte("k"), data["gossip.key"])
	again, changed, err := Renew(data, a, ClientProfile("reader"), epoch)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, data, again)
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := NewKeeper(fake.NewClientset(), Options{})
	require.ErrorContains(t, err, "namespace and the service")
}

// What everybody who asks may read has no key in it, and follows the authority.
func TestTrustIsPublic(t *testing.T) {
	client := fake.NewClientset()
	k, err := NewKeeper(client, Options{Namespace: "rollcall-system", Service: "rollcall-coordinator"})
	require.NoError(t, err)
	require.NoError(t, k.Ensure(t.Context()))
	want := map[string][]byte{"ca.crt": k.Authority().Bundle()}
	require.Equal(t, want, secretData(t, client, SecretTrust))
	require.NotContains(t, string(want["ca.crt"]), "KEY")

	secret, err := client.CoreV1().Secrets("rollcall-system").Get(t.Context(), SecretTrust, metav1.GetOptions{})
	require.NoError(t, err)
	secret.Data = map[string][]byte{"ca.crt": []byte("old"), "tls.key": []byte("of somebody")}
	_, err = client.CoreV1().Secrets("rollcall-system").Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, k.Ensure(t.Context()))
	require.Equal(t, want, secretData(t, client, SecretTrust))
}
