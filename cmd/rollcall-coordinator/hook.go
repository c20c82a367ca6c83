package main

import (
	"context"
	"log/slog"
	"sync"

	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// hook has the webhook's certificates and its registration.
type hook struct {
	keeper       *pki.Webhook
	coordinators *inject.Coordinators
	registration inject.Registration
	wake         chan struct{}
}

func newHook(client kubernetes.Interface, o options, keeper *pki.Keeper, log *slog.Logger) (*hook, error) {
	h := &hook{wake: make(chan struct{}, 1)}
	var err error
	if h.coordinators, err = inject.NewCoordinators(client, o.namespace, h.look); err != nil {
		return nil, err
	}
	h.keeper, err = pki.NewWebhook(client, pki.Options{Namespace: o.namespace, Service: o.service, Logger: log}, keeper, h.coordinators.Earlier)
	if err != nil {
		return nil, err
	}
	h.registration = inject.Registration{
		Client: client, Bundle: h.keeper.Bundle, Registered: h.keeper.Registered, Wait: h.keeper.Look, Wake: h.wake, Logger: log,
	}
	return h, nil
}

// look triggers a check of the registration.
func (h *hook) look() {
	select {
	case h.wake <- struct{}{}:
	default: // it is about to be
	}
}

// register keeps the registration current. It checks it when authorities or coordinators have
// changed, and periodically.
func (h *hook) register(ctx context.Context, keeper *pki.Keeper) error {
	var running sync.WaitGroup
	defer running.Wait()
	for _, changed := range []func() <-chan struct{}{keeper.Changed, h.keeper.Changed} {
		running.Go(func() {
			for next := changed(); ; next = changed() {
				h.look()
				select {
				case <-ctx.Done():
					return
				case <-next:
				}
			}
		})
	}
	return h.registration.Run(ctx)
}
