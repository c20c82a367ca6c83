package kube

import (
	"errors"
	"log/slog"

	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Options are the options of a Cache.
type Options struct {
	// Kubernetes is required.
	Kubernetes kubernetes.Interface
	// Clusters is required.
	Clusters v1alpha1.Clients
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

func (o *Options) validate() error {
	if o.Kubernetes == nil || o.Clusters == nil {
		return errors.New("kube cache: both Kubernetes and Clusters are required")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}
