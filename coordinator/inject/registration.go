package inject

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ConfigurationName is the MutatingWebhookConfiguration that the chart makes.
const ConfigurationName = "rollcall-coordinator"

// Registration tells the API server by which authority to know the webhook,
// in the MutatingWebhookConfiguration. Every replica may do so: it writes only
// when something differs.
type Registration struct {
	Client kubernetes.Interface
	// Bundle is the authorities in PEM; empty = not known yet.
	Bundle func() []byte
	// Changed is closed when Bundle changes after the call.
	Changed func() <-chan struct{}
	// Interval between looks. Default: 5 minutes.
	Interval time.Duration
	// Logger. Default: slog.Default.
	Logger *slog.Logger
}

// Run keeps the bundle current until ctx ends. A configuration that is not
// there means that pods are injected in their manifests, which is fine.
func (r Registration) Run(ctx context.Context) error {
	if r.Interval <= 0 {
		r.Interval = 5 * time.Minute
	}
	if r.Logger == nil {
		r.Logger = slog.Default()
	}
	ticker := time.NewTicker(r.Interval)
	defer ticker.Stop()
	missing := false
	for {
		changed := r.Changed()
		err := r.Ensure(ctx)
		switch {
		case apierrors.IsNotFound(err):
			if !missing {
				r.Logger.Info("there is no webhook configuration, so pods get agents only through their manifests", "configuration", ConfigurationName)
			}
			missing = true
		case err != nil && ctx.Err() == nil:
			r.Logger.Error("the webhook could not be registered", "configuration", ConfigurationName, "err", err)
		case err == nil:
			missing = false
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
	}
}

// Ensure writes the bundle once, if it differs from what is there.
func (r Registration) Ensure(ctx context.Context) error {
	bundle := r.Bundle()
	if len(bundle) == 0 {
		return nil
	}
	configurations := r.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	for attempt := 0; ; attempt++ {
		present, err := configurations.Get(ctx, ConfigurationName, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read %s: %w", ConfigurationName, err)
		}
		update := present.DeepCopy()
		differs := false
		for i := range update.Webhooks {
			conf := &update.Webhooks[i].ClientConfig
			if !bytes.Equal(conf.CABundle, bundle) {
				conf.CABundle = bundle
				differs = true
			}
		}
		if !differs {
			return nil
		}
		_, err = configurations.Update(ctx, update, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) && attempt < 5 {
			continue // another replica, most likely with the same
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", ConfigurationName, err)
		}
		return nil
	}
}
