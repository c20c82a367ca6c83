package network

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Connect makes what a process uses instead of gRPC; see agents.Options.
func (h *Hub) Connect(process string) func(agents.Key, agents.Target) (rollcallv1.AgentServiceClient, io.Closer, error) {
	return func(_ agents.Key, to agents.Target) (rollcallv1.AgentServiceClient, io.Closer, error) {
		c := &client{hub: h, process: process, pod: to.Pod, ip: to.IP}
		return c, c, nil
	}
}

// client reaches whoever has the address.
type client struct {
	rollcallv1.AgentServiceClient
	hub              *Hub
	process, pod, ip string
}

func (c *client) Close() error { return nil }

// unary carries a request to the agent and its answer back. Without an agent it
// waits for one, as gRPC does when it is told to, until ctx ends.
//
// what orders calls of one instant: another name makes another run of every seed. It is the
// name in the log, too, unless spoken has another.
//
// A process that asks the same twice at one instant, in goroutines of its own, is served
// once.
func unary[Request proto.Message, Response any](ctx context.Context, c *client, what string, request Request,
	serve func(*Agent, context.Context, Request) (Response, error)) (Response, error) {
	var none Response
	h := c.hub
	key := c.process + " " + c.pod + " " + what
	var shared *clock.Served[Response]
	err := h.loop.Call(ctx, key+clock.Apart+c.ip+wire(request), func(answered func()) {
		var first bool
		shared, first = clock.Twin[Response](h.loop, key+c.ip+wire(request))
		if shared.Wait(answered); !first {
			return
		}
		h.Carry(c.process, c.pod, func() {
			a := h.agents[c.ip]
			if a == nil || a.service == nil || a.Stuck {
				return
			}
			inner, cancel := context.WithCancel(a.ctx)
			if until, ok := ctx.Deadline(); ok {
				cancel()
				inner, cancel = context.WithDeadline(a.ctx, until)
			}
			go func() {
				defer cancel()
				response, err := serve(a, inner, request)
				h.loop.Ask("answer "+key, func() {
					if what != "fresh" && what != "report" {
						h.loop.Log(c.process, "%s of %s: %s", cmp.Or(spoken[what], what), c.pod, outcome(response, err))
					}
					h.Carry(c.pod, c.process, func() {
						if r, ok := any(response).(*rollcallv1.Report); ok && err == nil {
							h.told(c.process, a, r)
						}
						shared.Response, shared.Err = response, err
						shared.Tell()
					})
				})
			}()
		})
	})
	if err != nil {
		return none, err
	}
	return own(shared.Response), shared.Err
}

// spoken are calls that have another name in the log.
var spoken = map[string]string{"prepare": "drain", "relieve": "handoff"}

func outcome(response any, err error) string {
	if err != nil {
		return err.Error()
	}
	switch r := response.(type) {
	case *rollcallv1.DrainResponse:
		return fmt.Sprintf("%s %s", r.GetState(), r.GetDetail())
	case interface {
		GetDone() bool
		GetDetail() string
	}:
		return fmt.Sprintf("done %t %s", r.GetDone(), r.GetDetail())
	}
	return "ok"
}

func (c *client) GetReport(ctx context.Context, r *rollcallv1.GetReportRequest, _ ...grpc.CallOption) (*rollcallv1.Report, error) {
	what := "report"
	if r.GetFresh() {
		what = "fresh"
	}
	return unary(ctx, c, what, r, func(a *Agent, ctx context.Context, r *rollcallv1.GetReportRequest) (*rollcallv1.Report, error) {
		report, err := a.service.GetReport(ctx, r)
		if err != nil {
			return nil, err
		}
		return c.hub.Misread(a.skewed(report)), nil
	})
}

func (c *client) PlanDrain(ctx context.Context, r *rollcallv1.PlanDrainRequest, _ ...grpc.CallOption) (*rollcallv1.PlanDrainResponse, error) {
	return unary(ctx, c, "plan", r, func(a *Agent, ctx context.Context, r *rollcallv1.PlanDrainRequest) (*rollcallv1.PlanDrainResponse, error) {
		return a.service.PlanDrain(ctx, r)
	})
}

func (c *client) Drain(ctx context.Context, r *rollcallv1.DrainRequest, _ ...grpc.CallOption) (*rollcallv1.DrainResponse, error) {
	return unary(ctx, c, "prepare", r, func(a *Agent, ctx context.Context, r *rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
		return a.service.Drain(ctx, r)
	})
}

func (c *client) Restore(ctx context.Context, r *rollcallv1.RestoreRequest, _ ...grpc.CallOption) (*rollcallv1.RestoreResponse, error) {
	return unary(ctx, c, "restore", r, func(a *Agent, ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
		return a.service.Restore(ctx, r)
	})
}

func (c *client) RestoreSetting(ctx context.Context, r *rollcallv1.RestoreSettingRequest, _ ...grpc.CallOption) (*rollcallv1.RestoreSettingResponse, error) {
	return unary(ctx, c, "restore", r, func(a *Agent, ctx context.Context, r *rollcallv1.RestoreSettingRequest) (*rollcallv1.RestoreSettingResponse, error) {
		return a.service.RestoreSetting(ctx, r)
	})
}

func (c *client) HandoffOnBehalf(ctx context.Context, r *rollcallv1.HandoffOnBehalfRequest, _ ...grpc.CallOption) (*rollcallv1.HandoffOnBehalfResponse, error) {
	return unary(ctx, c, "relieve", r, func(a *Agent, ctx context.Context, r *rollcallv1.HandoffOnBehalfRequest) (*rollcallv1.HandoffOnBehalfResponse, error) {
		return a.service.HandoffOnBehalf(ctx, r)
	})
}

func (c *client) WatchReport(ctx context.Context, r *rollcallv1.WatchReportRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[rollcallv1.Report], error) {
	s := newStream[rollcallv1.Report](ctx, c, "reports", r)
	s.onWay = func(a *Agent, r *rollcallv1.Report) []*rollcallv1.Report {
		return c.hub.Tamper(c.process, c.pod, c.hub.Misread(a.skewed(r)))
	}
	s.arrived = func(a *Agent, r *rollcallv1.Report) { c.hub.told(c.process, a, r) }
	s.open(func(a *Agent, to grpc.ServerStreamingServer[rollcallv1.Report]) error {
		return a.service.WatchReport(r, to)
	})
	return s, nil
}

func (c *client) WatchRoster(ctx context.Context, r *rollcallv1.WatchRosterRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[rollcallv1.Roster], error) {
	s := newStream[rollcallv1.Roster](ctx, c, "roster", r)
	s.open(func(a *Agent, to grpc.ServerStreamingServer[rollcallv1.Roster]) error {
		return a.service.WatchRoster(r, to)
	})
	return s, nil
}

var errRefused = status.Error(codes.Unavailable, "connection refused")
