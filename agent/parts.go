package agent

import (
	"context"
	"net"
	"sync"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// parts are an agent without its servers.
type parts struct {
	agent     *Agent
	settings  *settings
	drainer   *drainer
	stopper   *stopper
	announcer *announcer
	service   *service
}

// assemble wires the parts of an agent that others find at the port, and starts
// nothing. stopping ends streams.
func (a *Agent) assemble(ctx context.Context, port string, stopping <-chan struct{}) *parts {
	p := &parts{agent: a}
	p.settings = &settings{
		options: &a.options, identity: a.board.view.identity, slot: &a.slot, board: a.board, fence: a.fence, mesh: a.mesh,
		keys: &a.keys, metrics: a.metrics, gossip: a.gossip, logger: a.logger,
	}
	p.drainer = newDrainer(ctx, &a.slot, "stop-"+a.options.Identity.PodUID, a.translate, a.board.drained, a.logger)
	p.stopper = newStopper(p.drainer, &a.slot, a.board, store{a.options.StateDir, a.options.Identity.PodUID},
		a.options.Identity.Grace, p.settings.drain, a.metrics, a.logger)
	a.prober = newProber(&a.slot, a.options.ProbeInterval, a.options.ProbeTimeout, a.metrics, func(s sighting) {
		a.board.sighted(s)
		p.stopper.sighted(s)
	})
	p.announcer = &announcer{
		board: a.board, mesh: a.mesh, fence: a.fence,
		address: net.JoinHostPort(a.options.Identity.PodIP.String(), port),
	}
	p.service = &service{
		board: a.board, prober: a.prober, drainer: p.drainer, fence: a.fence, mesh: a.mesh,
		heartbeat: a.options.Heartbeat, metrics: a.metrics, logger: a.logger, stopping: stopping,
	}
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
	if err := a.slot.set(nil); err != nil {
		a.logger.Warn("engine adapter did not close", "error", err)
	}
}
