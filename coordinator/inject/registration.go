package inject

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ConfigurationName is the MutatingWebhookConfiguration that the chart makes.
const ConfigurationName = "rollcall-coordinator"

// Registration writes the webhook's authorities into the MutatingWebhookConfiguration, for the API
// server. Every replica may do so: it writes only if something differs.
type Registration struct {
	Client kubernetes.Interface
	// Bundle returns what the configuration should have, in PEM. It is empty if not known yet.
	Bundle func() []byte
	// Changed returns a channel that is closed when Bundle changes after this call.
	Changed func() <-chan struct{}
	// Logger. Default: slog.Default.
	Logger *slog.Logger

	settled atomic.Bool
}

const (
	// lookTime is how long one look may take.
	lookTime = 10 * time.Second
	// lookInterval is when the next one is, unless the bundle changes before.
	lookInterval = 5 * time.Minute
	// tryAgain is when the next one is after one that has failed.
	tryAgain = time.Second
	// absentInterval is when the next one is if there is no configuration, or no permission to read or
	// write it: the chart makes both after the Deployment.
	absentInterval = 15 * time.Second
)

// Settled says whether the API server has had the bundle once, or there is no webhook to register.
func (r *Registration) Settled() bool { return r.settled.Load() }

// Run keeps the bundle current until ctx ends. A configuration that is not
// there means that pods are injected in their manifests, which is fine.
func (r *Registration) Run(ctx context.Context) error {
	if r.Logger == nil {
		r.Logger = slog.Default()
	}
	missing, failing := false, ""
	for {
		changed := r.Changed()
		err := r.look(ctx)
		switch {
		case apierrors.IsNotFound(err):
			if !missing {
				r.Logger.Info("there is no webhook configuration, so pods get agents only through their manifests", "configuration", ConfigurationName)
			}
			missing, failing = true, ""
		case err != nil && ctx.Err() == nil:
			if err.Error() != failing {
				r.Logger.Error("the webhook could not be registered; this is tried again", "configuration", ConfigurationName, "error", err)
			}
			failing = err.Error()
		case err == nil:
			missing, failing = false, ""
		}
		next := lookInterval
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
			next = absentInterval
		case failing != "":
			next = tryAgain
		}
		wait := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-wait.C:
		}
		wait.Stop()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is no failure
		}
	}
}

func (r *Registration) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	err := r.Ensure(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		r.settled.Store(true) // without the webhook there is no right to read it either
	}
	return err
}

// Ensure looks once, and writes the bundle if it differs from what is there.
func (r *Registration) Ensure(ctx context.Context) error {
	configurations := r.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	for attempt := 0; ; attempt++ {
		present, err := configurations.Get(ctx, ConfigurationName, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read %s: %w", ConfigurationName, err)
		}
		bundle := r.Bundle()
		if len(bundle) == 0 {
			return nil
		}
		update := present.DeepCopy()
		differs := false
		for i := range update.Webhooks {
			if conf := &update.Webhooks[i].ClientConfig; !bytes.Equal(conf.CABundle, bundle) {
				conf.CABundle = bundle
				differs = true
			}
		}
		if !differs {
			r.settled.Store(true)
			return nil
		}
		_, err = configurations.Update(ctx, update, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) && attempt < 5 {
			continue // another replica, most likely with the same
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", ConfigurationName, err)
		}
		r.settled.Store(true)
		return nil
	}
}
