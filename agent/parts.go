package agent

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/credentials/insecure"

	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/serve"
	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/agent/stophook"
	"github.com/rollcall-dev/rollcall/agent/trust"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// parts are an agent without its servers.
type parts struct {
	agent       *Agent
	keys        *trust.Keys // nil means insecure
	settings    *settings
	peers       *peers.Peers
	drainer     *drain.Drainer
	stopper     *stophook.Hook
	repairLoop  *drain.RepairLoop
	announcer   *peers.Announcer
	service     *serve.Service
	peerService *serve.PeerService
}

// assemble wires the parts of an agent that serves at the port, and starts nothing.
// stopping ends streams.
func (a *Agent) assemble(ctx context.Context, port string, stopping <-chan struct{}) *parts {
	p := &parts{agent: a}
	security := insecure.NewCredentials()
	if !a.options.Insecure {
		p.keys = &a.keys
		security = p.keys.Client()
	}
	p.peers = peers.New(peers.Options{Pod: a.options.Identity.Pod, Mesh: a.mesh, Fence: a.fence, Credentials: security})
	v, _ := a.board.Latest()
	p.settings = &settings{
		peers:   p.peers,
		options: &a.options, identity: v.Identity, slot: &a.slot, board: a.board, fence: a.fence, mesh: a.mesh,
		keys: &a.keys, metrics: a.metrics, gossip: a.metrics.gossip, logger: a.logger,
	}
	kept := state.Store{Dir: a.options.StateDir, PodUID: a.options.Identity.PodUID}
	p.drainer = drain.New(ctx, drain.Options{
		Engine: &a.slot, OwnClaim: "stop-" + a.options.Identity.PodUID, Translate: a.translate, OnChange: a.board.SetDrain,
		Store: kept, Clock: state.SinceBoot, Fence: a.fence, PeersHeard: a.mesh.Heard, Logger: a.logger,
	})
	p.drainer.Resume()
	p.stopper = stophook.New(ctx, stophook.Options{
		Drainer: p.drainer, Engine: &a.slot, Board: a.board, Store: kept, Clock: state.SinceBoot, Grace: a.options.Identity.Grace,
		Drain: p.settings.drain, Peers: p.peers.List, Metrics: a.metrics.stop, Logger: a.logger,
	})
	p.repairLoop = drain.NewRepairLoop(drain.RepairOptions{
		Drainer: p.drainer, Allowed: func() bool { return p.stopper.Idle() && a.mesh.Heard() && !p.settings.observes() },
		OnChange: a.board.SetRepair, Rounds: a.metrics.repair, Logger: a.logger,
	})
	a.prober = probe.NewProber(probe.Options{
		Engine: &a.slot, Interval: a.options.ProbeInterval, Timeout: a.options.ProbeTimeout, Metrics: a.metrics.probe,
		OnResult: func(s probe.Result) {
			a.board.SetResult(s)
			p.stopper.OnResult(s)
			p.repairLoop.OnResult(s)
		},
	})
	p.announcer = &peers.Announcer{
		Board: a.board, Mesh: a.mesh, Fence: a.fence, Peers: p.peers,
		Address: net.JoinHostPort(a.options.Identity.PodIP.String(), port),
	}
	p.service = &serve.Service{
		Board: a.board, Prober: a.prober, Drainer: p.drainer, Fence: a.fence, Mesh: a.mesh,
		Heartbeat: a.options.Heartbeat, Metrics: a.metrics.serve, Logger: a.logger, Stopping: stopping,
	}
	p.peerService = &serve.PeerService{Service: p.service, Engine: &a.slot}
	return p
}

// start runs the parts until ctx ends. The function that it returns waits until they
// have ended.
func (p *parts) start(ctx context.Context) (ended func()) {
	var running sync.WaitGroup
	polled := make(chan struct{})
	running.Go(func() { p.settings.run(ctx, sync.OnceFunc(func() { close(polled) })) })
	running.Go(func() {
		<-polled // before that there is no database to probe
		p.agent.prober.Run(ctx)
	})
	running.Go(p.drainer.Run)
	running.Go(func() { p.stopper.Run(ctx) })
	running.Go(func() { p.repairLoop.Run(ctx) })
	running.Go(func() { p.announcer.Run(ctx) })
	return running.Wait
}

// RunWithin is Run for a caller who carries the requests: nothing listens. It calls
// serve once with what answers them, the stop hook included; serve must return.
func (a *Agent) RunWithin(ctx context.Context, serve func(service rollcallv1.AgentServiceServer, stopHook func(context.Context) string)) {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	p := a.assemble(inner, portOf(nil), ctx.Done())
	ended := p.start(inner)
	serve(p.service, p.stopper.Stop)
	<-ctx.Done()
	stop()
	ended()
	p.close()
}

// close is called when everything has ended.
func (p *parts) close() {
	if err := p.agent.slot.Set(nil); err != nil {
		p.agent.logger.Warn("engine adapter did not close", "error", err)
	}
	p.peers.Close()
}
