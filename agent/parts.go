package agent

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/credentials/insecure"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// parts are an agent without its servers.
type parts struct {
	agent       *Agent
	settings    *settings
	peers       *peers
	drainer     *drainer
	stopper     *stopper
	tender      *tender
	announcer   *announcer
	service     *service
	peerService *peerService
}

// assemble wires the parts of an agent that others find at the port, and starts
// nothing. stopping ends streams.
func (a *Agent) assemble(ctx context.Context, port string, stopping <-chan struct{}) *parts {
	p := &parts{agent: a}
	security := insecure.NewCredentials()
	if !a.options.Insecure {
		security = a.keys.client()
	}
	p.peers = newPeers(a.options.Identity.Pod, a.mesh, a.fence, security)
	p.settings = &settings{
		peers:   p.peers,
		options: &a.options, identity: a.board.view.identity, slot: &a.slot, board: a.board, fence: a.fence, mesh: a.mesh,
		keys: &a.keys, metrics: a.metrics, gossip: a.gossip, logger: a.logger,
	}
	p.drainer = newDrainer(ctx, &a.slot, "stop-"+a.options.Identity.PodUID, a.translate, a.board.drained, a.logger)
	p.drainer.store, p.drainer.fence, p.drainer.heard = store{a.options.StateDir, a.options.Identity.PodUID}, a.fence, a.mesh.heard
	p.drainer.recall()
	p.stopper = newStopper(p.drainer, &a.slot, a.board, p.drainer.store,
		a.options.Identity.Grace, p.settings.drain, a.metrics, a.logger)
	p.stopper.others = p.peers.List
	p.tender = newTender(p.drainer, func() bool { return p.stopper.idle() && a.mesh.heard() && !p.settings.observes() },
		a.board.tended, a.metrics, a.logger)
	a.prober = newProber(&a.slot, a.options.ProbeInterval, a.options.ProbeTimeout, a.metrics, func(s sighting) {
		a.board.sighted(s)
		p.stopper.sighted(s)
		p.tender.sighted(s)
	})
	p.announcer = &announcer{
		board: a.board, mesh: a.mesh, fence: a.fence, peers: p.peers,
		address: net.JoinHostPort(a.options.Identity.PodIP.String(), port),
	}
	p.service = &service{
		board: a.board, prober: a.prober, drainer: p.drainer, fence: a.fence, mesh: a.mesh,
		heartbeat: a.options.Heartbeat, metrics: a.metrics, logger: a.logger, stopping: stopping,
	}
	p.peerService = &peerService{service: p.service, engine: &a.slot}
	return p
}

// start runs the parts until ctx ends; what it answers waits until they have.
func (p *parts) start(ctx context.Context) (ended func()) {
	var running sync.WaitGroup
	polled := make(chan struct{})
	running.Go(func() { p.settings.run(ctx, sync.OnceFunc(func() { close(polled) })) })
	running.Go(func() {
		<-polled // before that there is no database to look at
		p.agent.prober.run(ctx)
	})
	running.Go(p.drainer.run)
	running.Go(func() { p.stopper.repair(ctx) })
	running.Go(func() { p.tender.run(ctx) })
	running.Go(func() { p.announcer.run(ctx) })
	return running.Wait
}

// RunWithin is Run for a caller who carries the requests: nothing listens. serve
// is told once what answers them, the stop hook among it, and must return.
func (a *Agent) RunWithin(ctx context.Context, serve func(service rollcallv1.AgentServiceServer, stopHook func(context.Context) string)) {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	p := a.assemble(inner, portOf(nil), ctx.Done())
	ended := p.start(inner)
	serve(p.service, p.stopper.hook)
	<-ctx.Done()
	stop()
	ended()
	p.close()
}

// close is called when everything has ended.
func (p *parts) close() {
	if err := p.agent.slot.set(nil); err != nil {
		p.agent.logger.Warn("engine adapter did not close", "error", err)
	}
	p.peers.close()
}
