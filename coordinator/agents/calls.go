package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// ErrNotFollowed means that the pod has no agent that could be asked, or no address yet.
var ErrNotFollowed = errors.New("no agent is followed for this pod")

// ErrPlayedBack means that an earlier report came when a new one was requested.
var ErrPlayedBack = errors.New("a report of before the question came back")

// Fresh asks the pod's agent for a new observation and returns it. Its time is when the call was
// made, so it is later than anything that ended before.
func (a *Agents) Fresh(ctx context.Context, key Key, podUID string) (Received, error) {
	g, client, done, all, err := a.find(key, podUID)
	if err != nil {
		return Received{}, err
	}
	defer done()
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	a.mu.Lock()
	before := g.heard
	a.mu.Unlock()
	at := time.Now()
	report, err := client.GetReport(ctx, &rollcallv1.GetReportRequest{Fresh: true, AllGroups: all}, grpc.WaitForReady(true))
	if err != nil {
		return Received{}, fmt.Errorf("fresh report of %s: %w", g.target.Pod, err)
	}
	arrived := time.Now()
	r := Received{Report: report, At: at}
	// An agent that answers with an old report, or plays one back, shows nothing from after the
	// call.
	if age := report.GetAge(); age.IsValid() && arrived.Add(-age.AsDuration()).Before(at) {
		r.At = arrived.Add(-age.AsDuration())
	}
	// Each observation increments the sequence by one, and this one began after the call. A report
	// that is not newer than the previous one is the same one, or an earlier one.
	if !before.later(markOf(report), before.incarnation) {
		if err := a.isMeant(g, report.GetIdentity()); err != nil {
			return Received{}, fmt.Errorf("fresh report of %s: %w", g.target.Pod, err)
		}
		return Received{}, fmt.Errorf("fresh report of %s: %w: it has number %d, and number %d was there before",
			g.target.Pod, ErrPlayedBack, report.GetSequence(), before.sequence)
	}
	a.dated(g, report, arrived)
	if err := a.take(ctx, g, r, before.incarnation); err != nil {
		return Received{}, fmt.Errorf("fresh report of %s: %w", g.target.Pod, err)
	}
	return r, nil
}

// Refresh asks all agents of a cluster for fresh reports, in parallel, and waits for the answers.
// An agent that does not answer keeps its last report.
func (a *Agents) Refresh(ctx context.Context, key Key) error {
	a.mu.Lock()
	var uids []string
	if c := a.clusters[key]; c != nil {
		for uid := range c.agents {
			uids = append(uids, uid)
		}
	}
	a.mu.Unlock()
	const together = 64
	var (
		group  sync.WaitGroup
		slots  = make(chan struct{}, together)
		mu     sync.Mutex
		failed []error
	)
	for _, uid := range uids {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if _, err := a.Fresh(ctx, key, uid); err != nil {
				mu.Lock()
				failed = append(failed, err)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return errors.Join(failed...)
}

// PlanDrain asks the pod's agent what a drain would change. It sets the request's term, and its
// pod_uid, unless the request is about another pod's member.
func (a *Agents) PlanDrain(ctx context.Context, key Key, podUID string, request *rollcallv1.PlanDrainRequest, end time.Time) (*rollcallv1.PlanDrainResponse, error) {
	if request.GetNode() == "" {
		request.PodUid = podUID
	}
	return order(ctx, a, key, podUID, end, func(t *rollcallv1.Term) { request.Term = t }, request, rollcallv1.AgentServiceClient.PlanDrain)
}

// Drain orders the pod's agent to start or continue a drain. The agent starts no write for it after
// end, by the clock here. The request is completed as in PlanDrain.
func (a *Agents) Drain(ctx context.Context, key Key, podUID string, request *rollcallv1.DrainRequest, end time.Time) (*rollcallv1.DrainResponse, error) {
	if request.GetNode() == "" {
		request.PodUid = podUID
	}
	return order(ctx, a, key, podUID, end, func(t *rollcallv1.Term) { request.Term = t }, request, rollcallv1.AgentServiceClient.Drain)
}

// HandoffOnBehalf orders the pod's agent to hand over for another member, until end like Drain.
func (a *Agents) HandoffOnBehalf(ctx context.Context, key Key, podUID string, request *rollcallv1.HandoffOnBehalfRequest, end time.Time) (*rollcallv1.HandoffOnBehalfResponse, error) {
	request.PodUid = podUID
	return order(ctx, a, key, podUID, end, func(t *rollcallv1.Term) { request.Term = t }, request, rollcallv1.AgentServiceClient.HandoffOnBehalf)
}

// Restore orders the pod's agent to undo a drain. The request names no pod, so the
// agent is first asked who it is. A restore has no end.
func (a *Agents) Restore(ctx context.Context, key Key, podUID string, request *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	return call(ctx, a, key, podUID, func(ctx context.Context, g *agent, client rollcallv1.AgentServiceClient) (*rollcallv1.RestoreResponse, error) {
		if err := a.greet(ctx, g, client); err != nil {
			return nil, err
		}
		return client.Restore(ctx, request, grpc.WaitForReady(true))
	})
}

// RestoreSetting orders the pod's agent to restore a cluster setting, until end like Drain. Like
// Restore it first asks the agent who it is.
func (a *Agents) RestoreSetting(ctx context.Context, key Key, podUID string, request *rollcallv1.RestoreSettingRequest, end time.Time) (*rollcallv1.RestoreSettingResponse, error) {
	return call(ctx, a, key, podUID, func(ctx context.Context, g *agent, client rollcallv1.AgentServiceClient) (*rollcallv1.RestoreSettingResponse, error) {
		if err := a.greet(ctx, g, client); err != nil {
			return nil, err
		}
		var err error
		if request.Term, err = a.term(ctx, g, client, end); err != nil {
			return nil, err
		}
		return client.RestoreSetting(ctx, request, grpc.WaitForReady(true))
	})
}

// order sends a request whose term is set.
func order[Request, Response any](ctx context.Context, a *Agents, key Key, podUID string, end time.Time, set func(*rollcallv1.Term), request Request,
	send func(rollcallv1.AgentServiceClient, context.Context, Request, ...grpc.CallOption) (Response, error)) (Response, error) {
	return call(ctx, a, key, podUID, func(ctx context.Context, g *agent, client rollcallv1.AgentServiceClient) (Response, error) {
		t, err := a.term(ctx, g, client, end)
		if err != nil {
			var none Response
			return none, err
		}
		set(t)
		return send(client, ctx, request, grpc.WaitForReady(true))
	})
}

// call calls the agent that is followed for the pod, with a deadline.
func call[Response any](ctx context.Context, a *Agents, key Key, podUID string,
	talk func(context.Context, *agent, rollcallv1.AgentServiceClient) (Response, error)) (Response, error) {
	g, client, done, _, err := a.find(key, podUID)
	if err != nil {
		var none Response
		return none, err
	}
	defer done()
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	response, err := talk(ctx, g, client)
	a.restarted(g, err)
	return response, err
}

// find returns the pod's agent and a client for it, until done is called.
func (a *Agents) find(key Key, podUID string) (g *agent, client rollcallv1.AgentServiceClient, done func(), allGroups bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.clusters[key]
	if c == nil || c.agents[podUID] == nil {
		return nil, nil, nil, false, fmt.Errorf("%w: uid %s of %s", ErrNotFollowed, podUID, key)
	}
	g = c.agents[podUID]
	client, done, err = a.borrowLocked(g)
	return g, client, done, c.following.AllGroups, err
}

// bounded gives a call a deadline.
func (a *Agents) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.opts.CallTimeout)
}
