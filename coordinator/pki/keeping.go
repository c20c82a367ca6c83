package pki

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

const (
	// lookTime is how long reading the stored authority may take.
	lookTime = 10 * time.Second
	// looksApart is the least time between two reads, however often the Secret changes.
	looksApart = 200 * time.Millisecond
	// watchAgain is how long after a watch has ended the next one begins.
	watchAgain = 500 * time.Millisecond
)

// Options configure a Keeper and a Webhook.
type Options struct {
	// Namespace of the installation.
	Namespace string
	// Service is the name of the coordinators' Service.
	Service string
	// Interval between looks at the stored authority, beside those that a change of the
	// Secret gives rise to. Default: 1 minute.
	Interval time.Duration
	// Logger. Default: slog.Default.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Namespace == "" || o.Service == "" {
		return o, errors.New("pki: the namespace and the service of the installation are needed")
	}
	if o.Interval <= 0 {
		o.Interval = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}

// keeping follows one authority, and has certificates of it in memory. Each replica
// issues its own.
type keeping struct {
	opts     Options
	store    *Store
	now      func() time.Time
	profiles []Profile
	// then does what else is due after each look.
	then func(context.Context, Authority) error

	mu        sync.RWMutex
	authority Authority
	pool      *x509.CertPool
	pairs     []Pair // one for each profile
	changed   chan struct{}
}

func newKeeping(client kubernetes.Interface, opts Options, secret string, profiles ...Profile) keeping {
	return keeping{
		opts: opts, store: NewStore(client, opts.Namespace, secret), now: time.Now, profiles: profiles,
		then:  func(context.Context, Authority) error { return nil },
		pairs: make([]Pair, len(profiles)), changed: make(chan struct{}),
	}
}

// Ensure reads or makes the authority, and renews what is due.
func (k *keeping) Ensure(ctx context.Context) error {
	authority, err := k.store.Advance(ctx, k.now())
	if err != nil {
		return err
	}
	if err := k.adopt(authority); err != nil {
		return err
	}
	return k.then(ctx, authority)
}

// adopt takes over an authority and issues what is due under it.
func (k *keeping) adopt(authority Authority) error {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	news := k.authority.IsZero() || string(k.authority.Bundle()) != string(authority.Bundle())
	k.authority = authority
	k.pool = authority.Pool()
	for i, profile := range k.profiles {
		if !authority.Due(k.pairs[i], profile, now) {
			continue
		}
		pair, err := authority.Issue(profile, now)
		if err != nil {
			return err
		}
		k.pairs[i] = pair
	}
	if news {
		close(k.changed)
		k.changed = make(chan struct{})
	}
	return nil
}

// Run keeps everything current until ctx ends. Failures are logged and tried again; in the meantime
// the current certificates stay in use.
func (k *keeping) Run(ctx context.Context) error {
	look := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		k.watch(ctx, func() {
			select {
			case look <- struct{}{}:
			default: // one is due already
			}
		})
	})
	for {
		changed := k.Changed()
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.opts.Logger.Error("certificates could not be renewed", "secret", k.store.name, "error", err)
		}
		select {
		case <-changed:
			k.opts.Logger.Info("the trusted authorities have changed", "secret", k.store.name, "rotation", k.Authority().Rotation())
		default:
		}
		apart := time.NewTimer(looksApart)
		next := time.NewTimer(k.wait())
		select {
		case <-ctx.Done():
		case <-next.C:
		case <-look:
			select {
			case <-ctx.Done():
			case <-apart.C:
			}
		}
		apart.Stop()
		next.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

func (k *keeping) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return k.Ensure(ctx)
}

// wait is how long it is until the next look: the interval, or less if a step of a rotation is due.
func (k *keeping) wait() time.Duration {
	wait := k.opts.Interval
	if step := k.Authority().Step(); !step.IsZero() {
		if due := step.Sub(k.now()); due > 0 {
			wait = min(wait, due)
		}
	}
	return wait
}

// watch calls changed when the authority's Secret has changed, or may have, until ctx ends.
// While it is cut off, the Secret is read in each interval.
func (k *keeping) watch(ctx context.Context, changed func()) {
	told := false
	for ctx.Err() == nil {
		err := k.follow(ctx, func() {
			told = false
			changed()
		})
		if err != nil && !told && ctx.Err() == nil {
			told = true
			k.opts.Logger.Warn("the authority's Secret cannot be watched, so a change is seen at the next look at it", "secret", k.store.name, "interval", k.opts.Interval, "error", err)
		}
		again := watchAgain
		if apierrors.IsForbidden(err) {
			again = k.opts.Interval
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// follow is one watch, until it ends.
func (k *keeping) follow(ctx context.Context, changed func()) error {
	events, err := k.store.Watch(ctx)
	if err != nil {
		return err
	}
	defer events.Stop()
	changed() // also if there is no Secret any more
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events.ResultChan():
			switch {
			case !open:
				return nil // Kubernetes ends each now and then
			case event.Type == watch.Error:
				return apierrors.FromObject(event.Object)
			}
			changed()
		}
	}
}

// Authority is the one in use; zero before the first Ensure.
func (k *keeping) Authority() Authority {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.authority
}

// Changed is closed when the bundle of authorities changes after this call.
func (k *keeping) Changed() <-chan struct{} {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.changed
}

var errNone = errors.New("no certificate authority yet")

// current is the certificate of a profile, and the authorities.
func (k *keeping) current(profile int) (Pair, *x509.CertPool, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.authority.IsZero() {
		return Pair{}, nil, errNone
	}
	return k.pairs[profile], k.pool, nil
}
