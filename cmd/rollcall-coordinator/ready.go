package main

import (
	"errors"
	"sync/atomic"
)

// readiness says what this coordinator may do yet. The webhook lets pods through that it does not see, so a
// coordinator without a registered webhook may lead: rollouts must not stand still because of it.
type readiness struct {
	// certified reports whether there are certificates for agents and people.
	certified func() bool
	// cached reports whether the informer caches are synced.
	cached func() bool
	// registered reports whether the API server has the webhook's authority, or there is no webhook to register.
	registered func() bool

	// synced stays true: a database that is added later must not take the webhook away from others.
	synced, served atomic.Bool
}

// lead returns why the coordinator must not lead yet.
func (r *readiness) lead() error {
	switch {
	case !r.certified():
		return errors.New("no certificates yet")
	case !r.synced.Load() && !r.cached():
		return errors.New("informer caches not synced")
	}
	r.synced.Store(true)
	return nil
}

// serve returns why the coordinator is not ready for the Service's clients, the webhook's among them.
func (r *readiness) serve() error {
	if err := r.lead(); err != nil {
		return err
	}
	if !r.served.Load() && !r.registered() {
		return errors.New("the webhook is not registered yet; the log says why")
	}
	r.served.Store(true)
	return nil
}
