package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/coordinator"
	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/lead"
	"github.com/rollcall-dev/rollcall/coordinator/people"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
	"github.com/rollcall-dev/rollcall/coordinator/provision"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/coordinator/status/tracing"
	"github.com/rollcall-dev/rollcall/coordinator/status/web"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// clients are the clients of the API server.
type clients struct {
	kubernetes kubernetes.Interface
	clusters   v1alpha1.Clients
	// lease has a rate limit of its own: renewing must not wait behind other work.
	lease kubernetes.Interface
	// metadata is for Secrets of which nothing else is read.
	metadata metadata.Interface
	// people is for reviews of callers. However many there are, other work does not wait behind
	// them.
	people kubernetes.Interface
}

func newClients(o options, m *metrics) (clients, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return clients{}, fmt.Errorf("API server configuration: %w", err)
	}
	config.UserAgent = "rollcall-coordinator/" + versionText()
	election, asking := rest.CopyConfig(config), rest.CopyConfig(config)
	asking.QPS = -1 // the gate has a limit of its own, at which it refuses and does not wait
	config.QPS = -1 // API Priority and Fairness knows how busy the server is; a client does not
	if o.apiQPS > 0 {
		// One for both clients.
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(float32(o.apiQPS), 2*o.apiQPS)
	}
	config.Wrap(m.countWrites)
	var c clients
	var errs [5]error
	c.kubernetes, errs[0] = kubernetes.NewForConfig(config)
	clusters, err := v1alpha1.NewForConfig(config)
	c.clusters, errs[1] = v1alpha1.NewReduced(clusters), err
	c.lease, errs[2] = kubernetes.NewForConfig(election)
	c.people, errs[3] = kubernetes.NewForConfig(asking)
	c.metadata, errs[4] = metadata.NewForConfig(config)
	if err := errors.Join(errs[:]...); err != nil {
		return clients{}, fmt.Errorf("create API client: %w", err)
	}
	return c, nil
}

// run is the program: it wires the parts of the coordinator and runs them until ctx ends.
func run(ctx context.Context, o options, log *slog.Logger) error {
	log.Info("starting", "version", versionText(), "identity", o.identity, "namespace", o.namespace)
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	api, err := newClients(o, m)
	if err != nil {
		return err
	}
	lately := &door.Refusals{}
	doors := door.New(m.connections, log)
	doors.Lately = lately
	sockets, err := listen(ctx, o, doors)
	if err != nil {
		return err
	}

	callers, err := o.webhookCallers()
	if err != nil {
		return err
	}
	keeper, err := pki.NewKeeper(api.kubernetes, pki.Options{Namespace: o.namespace, Service: o.service, Logger: log})
	if err != nil {
		return err
	}
	hook, err := pki.NewWebhook(api.kubernetes, pki.Options{Namespace: o.namespace, Service: o.service, Logger: log})
	if err != nil {
		return err
	}
	registration := register(api.kubernetes, hook, log)
	registry.MustRegister(pki.NewExpiry(keeper, hook))
	networks, err := prefixes("--gossip-cidrs", o.gossip)
	if err != nil {
		return err
	}
	kubelets, err := prefixes("--stop-hook-cidrs", o.stopHook)
	if err != nil {
		return err
	}
	provisioner, err := provision.New(provision.Options{
		Client: api.kubernetes, Metadata: api.metadata, Authority: keeper.Authority, GossipCIDRs: networks, StopHookCIDRs: kubelets,
	})
	if err != nil {
		return err
	}
	cache, err := kube.New(kube.Options{Kubernetes: api.kubernetes, Clusters: api.clusters, Logger: log})
	if err != nil {
		return err
	}
	streams, err := agents.New(agents.Options{TLS: agentTLS(keeper), Registerer: registry, Logger: log})
	if err != nil {
		return err
	}
	recorder, err := status.NewRecorder(api.kubernetes.EventsV1(), status.RecorderOptions{Instance: o.identity, Log: log})
	if err != nil {
		return err
	}
	guardian, err := guard.New(guard.Options{
		Kubernetes: api.kubernetes, Cache: cache, Rearmed: tellRearmed(recorder), Registerer: registry, Logger: log,
	})
	if err != nil {
		return err
	}
	timelines := web.NewTimelines()
	observers := []status.Observer{status.NewMetrics(registry), recorder, timelines}
	var traces *tracing.Exporter
	if tracing.Enabled() {
		if traces, err = tracing.NewExporter(ctx, versionText(), o.identity); err != nil {
			return err
		}
		observers = append(observers, traces)
	}
	board := status.NewBoard(observers...)
	board.RefusedBy(func(key status.Key) []*rollcallv1.Refusal {
		return append(streams.Refusals(key), agents.Told("", lately)...)
	})
	webhook, err := inject.NewWebhook(inject.WebhookOptions{
		Image: o.agentImage, PullPolicy: corev1.PullPolicy(o.pullPolicy), Lookup: lookup(cache), Armed: guardian.Armed,
		Secret: consent.NewAsker(api.metadata).Secret, Lately: lately, Logger: log, Registerer: registry,
	})
	if err != nil {
		return err
	}
	loop, err := coordinator.New(coordinator.Options{
		Kubernetes: api.kubernetes, Clusters: api.clusters, Cache: cache, Agents: streams, Board: board,
		Provision: provide(provisioner), Authorities: keeper.Changed, Metrics: coordinator.NewMetrics(registry), Logger: log,
		MaxRestarts: o.maxRestart, Guard: guardian, Rested: (&tidier{tidy: tidy}).rested,
	})
	if err != nil {
		return err
	}
	known := &announcer{ctx: ctx, client: api.kubernetes, board: board, options: o, log: log}
	elector, err := lead.New(lead.Options{
		Client: api.lease, Namespace: o.namespace, Identity: o.identity, Logger: log,
		OnLeader: known.heard,
	})
	if err != nil {
		return err
	}
	ready := &readiness{
		certified:  func() bool { return !keeper.Authority().IsZero() },
		cached:     func() bool { return cache.Synced() && guardian.Synced() },
		registered: registration.Settled,
	}

	return runParts(ctx, log, []part{
		{"http", func(ctx context.Context) error {
			return serveHTTP(ctx, sockets.http, newHandler(registry, ready.serve), log)
		}},
		{"certificates", func(ctx context.Context) error { return keepCertificates(ctx, keeper, log) }},
		{"webhook certificates", func(ctx context.Context) error { return keepCertificates(ctx, hook, log) }},
		{"cache", cache.Run},
		{"guard", guardian.Watch},
		{"agents", streams.Run},
		{"trust", func(ctx context.Context) error { return recheck(ctx, keeper, streams) }},
		{"events", recorder.Run},
		{"webhook", func(ctx context.Context) error {
			return inject.Serve(ctx, sockets.webhook, webhookTLS(hook.TLS(), callers), webhook, log)
		}},
		{"webhook registration", registration.Run},
		{"traces", func(ctx context.Context) error { return sendTraces(ctx, traces, log) }},
		{"page", func(ctx context.Context) error {
			return servePage(ctx, sockets.page, keeper, web.NewHandler(board, timelines), log)
		}},
		{"grpc", func(ctx context.Context) error {
			gate := people.NewGate(api.people, keeper.Refuses)
			registry.MustRegister(gate.Metrics())
			gate.Lately = lately
			return status.NewServer(board, keeper.GateCredentials(), gate.ServerOptions()...).Run(ctx, sockets.grpc)
		}},
		{"election", func(ctx context.Context) error {
			if !waitUntil(ctx, func() bool { return ready.lead() == nil }) {
				return nil
			}
			return elector.Run(ctx, func(ctx context.Context, term *lead.Term) error {
				m.leader.Set(1)
				defer m.leader.Set(0)
				defer known.lead()()
				return loop.Lead(ctx, term)
			})
		}},
	})
}

// register has the API server know the webhook by its authority.
func register(client kubernetes.Interface, hook *pki.Webhook, log *slog.Logger) *inject.Registration {
	return &inject.Registration{Client: client, Bundle: func() []byte { return hook.Authority().Bundle() }, Changed: hook.Changed, Logger: log}
}

// keepCertificates gets the first certificates sooner than the keeper's own interval.
func keepCertificates(ctx context.Context, keeper interface {
	Ensure(context.Context) error
	Run(context.Context) error
}, log *slog.Logger,
) error {
	waitUntil(ctx, func() bool {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		err := keeper.Ensure(try)
		if err != nil && ctx.Err() == nil {
			log.Warn("no certificates yet", "error", err)
		}
		return err == nil
	})
	return keeper.Run(ctx)
}

// recheck ends connections to agents whose certificates do not count any more: as soon as the
// authorities change, and each minute for those that have ended. The keeper does so for callers.
func recheck(ctx context.Context, keeper *pki.Keeper, streams *agents.Agents) error {
	for {
		changed := keeper.Changed()
		streams.Recheck()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-time.After(time.Minute):
		}
	}
}

// waitUntil polls until done, and returns false if ctx ends first.
func waitUntil(ctx context.Context, done func() bool) bool {
	wait := 100 * time.Millisecond
	for !done() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
		wait = min(2*wait, 2*time.Second)
	}
	return true
}

// agentTLS returns the TLS configuration for a handshake with an agent. It is called at every
// handshake.
func agentTLS(keeper *pki.Keeper) func() (*tls.Config, error) {
	own := keeper.AgentTLS("", "")
	return func() (*tls.Config, error) {
		authority := keeper.Authority()
		if authority.IsZero() {
			return nil, errors.New("no certificates yet")
		}
		return &tls.Config{
			MinVersion: tls.VersionTLS13, RootCAs: authority.Pool(), GetClientCertificate: own.GetClientCertificate,
		}, nil
	}
}

func lookup(cache *kube.Cache) inject.Lookup {
	return func(namespace, name string) (*v1alpha1.DatabaseCluster, bool) {
		return cache.DatabaseCluster(kube.Key{Namespace: namespace, Name: name})
	}
}

// tellRearmed records an Event when an expired guard refuses again.
func tellRearmed(recorder *status.Recorder) func(kube.Key, string) {
	return func(key kube.Key, uid string) {
		recorder.Record(status.Event{Cluster: key, ClusterUID: uid, Reason: status.EventGuardEnforced,
			Note: "a coordinator is there again, so Kubernetes refuses again to remove pods that Rollcall has not let go"})
	}
}

// provide creates what the agents of a database cluster need.
func provide(provisioner *provision.Provisioner) func(context.Context, kube.ClusterObjects) (time.Time, error) {
	return func(ctx context.Context, objects kube.ClusterObjects) (time.Time, error) {
		result, err := provisioner.Ensure(ctx, objects.Cluster, objects.PodNetworks(), coordinator.MountedSecrets(objects)...)
		return result.Next, err
	}
}

// sendTraces sends, at the end, what has not been sent. Without a collector there is nothing to send.
func sendTraces(ctx context.Context, traces *tracing.Exporter, log *slog.Logger) error {
	<-ctx.Done()
	if traces == nil {
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := traces.Close(last); err != nil {
		log.Warn("the last traces were not sent", "error", err)
	}
	return nil
}
