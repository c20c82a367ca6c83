package inject

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func configuration() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ConfigurationName},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: "pods.rollcall.dev"}},
	}
}

func bundleOf(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	present, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), ConfigurationName, metav1.GetOptions{})
	require.NoError(t, err)
	return string(present.Webhooks[0].ClientConfig.CABundle)
}

func writes(client *fake.Clientset) (n int) {
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" {
			n++
		}
	}
	return n
}

func TestRegistrationWritesOnlyDifferences(t *testing.T) {
	client := fake.NewClientset(configuration())
	r := Registration{Client: client, Bundle: func() []byte { return nil }}
	require.NoError(t, r.Ensure(t.Context()))
	require.Zero(t, writes(client), "nothing is known yet")
	require.False(t, r.Settled())

	r.Bundle = func() []byte { return []byte("one") }
	require.NoError(t, r.Ensure(t.Context()))
	require.True(t, r.Settled())
	require.NoError(t, r.Ensure(t.Context()))
	require.Equal(t, "one", bundleOf(t, client))
	require.Equal(t, 1, writes(client))

	// That another replica has written it is as good.
	r = Registration{Client: client, Bundle: r.Bundle}
	require.NoError(t, r.Ensure(t.Context()))
	require.True(t, r.Settled())
	require.Equal(t, 1, writes(client))
}

// Where there is no configuration, or no right to read it, nothing is registered: that is an answer.
// An API server that does not answer has said nothing.
func TestRegistrationOfNothing(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		settled bool
	}{
		"none":     {apierrors.NewNotFound(schema.GroupResource{}, ConfigurationName), true},
		"no right": {apierrors.NewForbidden(schema.GroupResource{}, ConfigurationName, errors.New("no")), true},
		"down":     {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
			r := Registration{Client: client}
			require.Error(t, r.look(t.Context()))
			require.Equal(t, c.settled, r.Settled())
		})
	}
}

func TestRegistrationTriesAgainOnConflict(t *testing.T) {
	client := fake.NewClientset(configuration())
	conflicts := 0
	client.PrependReactor("update", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts++
		if conflicts < 3 {
			return true, nil, apierrors.NewConflict(schema.GroupResource{}, ConfigurationName, errors.New("changed"))
		}
		return false, nil, nil
	})
	r := Registration{Client: client, Bundle: func() []byte { return []byte("one") }}
	require.NoError(t, r.Ensure(t.Context()))
	require.Equal(t, "one", bundleOf(t, client))
}

func TestRegistrationFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var bundle atomic.Value
		bundle.Store("one")
		var changed atomic.Value
		changed.Store(make(chan struct{}))
		change := func(to string) {
			bundle.Store(to)
			close(changed.Swap(make(chan struct{})).(chan struct{}))
		}
		var log bytes.Buffer
		r := Registration{
			Client:  client,
			Bundle:  func() []byte { return []byte(bundle.Load().(string)) },
			Changed: func() <-chan struct{} { return changed.Load().(chan struct{}) },
			Logger:  slog.New(slog.NewTextHandler(&log, nil)),
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()

		// No configuration: said once, looked for again.
		time.Sleep(16 * time.Minute)
		synctest.Wait()
		_, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), configuration(), metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(absentInterval) // the chart makes it after the Deployment: pods must not wait longer for agents
		synctest.Wait()
		require.Equal(t, "one", bundleOf(t, client))

		// A change is followed at once.
		change("two")
		synctest.Wait()
		require.Equal(t, "two", bundleOf(t, client))

		require.NotContains(t, log.String(), "level=ERROR")

		// An API server that is unavailable for a moment is asked again soon.
		var down atomic.Bool
		down.Store(true)
		client.PrependReactor("update", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return down.Load(), nil, errors.New("connection refused")
		})
		change("three")
		time.Sleep(10 * time.Second)
		down.Store(false)
		time.Sleep(tryAgain)
		synctest.Wait()
		require.Equal(t, "three", bundleOf(t, client))
		require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), "it is said once")

		cancel()
		require.NoError(t, <-ended)
		require.Equal(t, 1, strings.Count(log.String(), "no webhook configuration"))
	})
}
