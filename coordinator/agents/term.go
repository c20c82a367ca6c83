package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/term"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// ErrNoUptime means that the agent would carry an order out at any time, however late it arrived.
var ErrNoUptime = errors.New("its agent does not tell its uptime, so no order would end in time: it is of an older version than the coordinator, and has to be updated")

// reasonOtherRun is the agents' reason, in a google.rpc.ErrorInfo, for refusing an order to an
// earlier run.
const reasonOtherRun = "OTHER_RUN"

// term returns the end of an order by the clock of the pod's agent. That is known from its reports.
// An agent that has not sent any lately is asked.
func (a *Agents) term(ctx context.Context, g *agent, client rollcallv1.AgentServiceClient, end time.Time) (*rollcallv1.Term, error) {
	if t := a.knownTerm(g, end); t != nil {
		return t, nil
	}
	if err := a.greet(ctx, g, client); err != nil {
		return nil, err
	}
	if t := a.knownTerm(g, end); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%s: %w", g.target.Pod, ErrNoUptime)
}

func (a *Agents) knownTerm(g *agent, end time.Time) *rollcallv1.Term {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !g.clock.Knows(time.Now()) {
		return nil
	}
	return g.clock.Term(end)
}

// greet asks an agent who it is and what its uptime is.
func (a *Agents) greet(ctx context.Context, g *agent, client rollcallv1.AgentServiceClient) error {
	report, err := client.GetReport(ctx, &rollcallv1.GetReportRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	arrived := time.Now()
	if err := a.isMeant(g, report.GetIdentity()); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	g.clock.Hear(report.GetIdentity().GetIncarnation(), report.GetUptime(), arrived)
	return nil
}

// restarted forgets the clock of an agent that refuses an order because it has restarted. It is
// asked again for the next order.
func (a *Agents) restarted(g *agent, err error) {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetReason() == reasonOtherRun {
			a.mu.Lock()
			g.clock = term.Clock{}
			a.mu.Unlock()
		}
	}
}
