package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/term"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	// longPoll is how long an order waits for its end before it answers how far it is.
	longPoll = time.Second
	// rosterGap is the least time between two messages of one roster stream.
	rosterGap = 100 * time.Millisecond

	// firstEpoch is the least that a coordinator can have.
	firstEpoch = 1

	maxClaim    = 256
	maxEligible = 4096
)

const (
	orderPlan    = "plan"
	orderPrepare = "prepare"
	orderRestore = "restore"
	orderRelieve = "relieve"
)

// service answers gRPC.
type service struct {
	rollcallv1.UnimplementedAgentServiceServer

	board     *board
	prober    *prober
	drainer   *drainer
	fence     *fence
	mesh      *meshKeeper
	heartbeat time.Duration
	metrics   *metrics
	logger    *slog.Logger
	// stopping ends streams before the server is stopped.
	stopping <-chan struct{}
}

func (s *service) GetReport(ctx context.Context, r *rollcallv1.GetReportRequest) (*rollcallv1.Report, error) {
	if r.GetFresh() {
		if _, err := s.prober.fresh(ctx); err != nil {
			return nil, status.Error(codes.DeadlineExceeded, err.Error())
		}
	}
	v, _ := s.board.newest()
	return s.board.told(v, r.GetAllGroups()), nil
}

func (s *service) WatchReport(r *rollcallv1.WatchReportRequest, stream grpc.ServerStreamingServer[rollcallv1.Report]) error {
	for {
		v, changed := s.board.newest()
		if err := stream.Send(s.board.told(v, r.GetAllGroups())); err != nil {
			return err
		}
		if err := s.wait(stream.Context(), changed); err != nil {
			return err
		}
	}
}

func (s *service) GetRoster(context.Context, *rollcallv1.GetRosterRequest) (*rollcallv1.Roster, error) {
	roster, _ := s.roster()
	return roster, nil
}

func (s *service) WatchRoster(_ *rollcallv1.WatchRosterRequest, stream grpc.ServerStreamingServer[rollcallv1.Roster]) error {
	for {
		roster, changed := s.roster()
		if err := stream.Send(roster); err != nil {
			return err
		}
		select {
		case <-time.After(rosterGap):
		case <-stream.Context().Done():
		}
		if err := s.wait(stream.Context(), changed); err != nil {
			return err
		}
	}
}

// wait ends with nil when it is time for the next message of a stream.
func (s *service) wait(ctx context.Context, changed <-chan struct{}) error {
	timer := time.NewTimer(s.heartbeat)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-s.stopping:
		return status.Error(codes.Unavailable, "the agent is stopping")
	}
	return nil
}

func (s *service) roster() (*rollcallv1.Roster, <-chan struct{}) {
	known, changed := s.mesh.roster()
	v, _ := s.board.newest()
	return protoRoster(v.identity, known, time.Now()), changed
}

func protoRoster(identity *rollcallv1.Identity, known gossip.Roster, now time.Time) *rollcallv1.Roster {
	r := &rollcallv1.Roster{
		Identity: identity,
		Sequence: known.Sequence,
		Synced:   known.Synced,
		Entries:  make([]*rollcallv1.RosterEntry, 0, len(known.Entries)),
	}
	for _, e := range known.Entries {
		r.Entries = append(r.Entries, &rollcallv1.RosterEntry{
			Headline: e.Headline, Liveness: e.Liveness, Since: durationpb.New(now.Sub(e.Since)),
		})
	}
	return r
}

func (s *service) Prepare(ctx context.Context, r *rollcallv1.PrepareRequest) (*rollcallv1.PrepareResponse, error) {
	name := orderPlan
	if r.GetApply() {
		name = orderPrepare
	}
	response, err := s.prepare(ctx, r)
	s.counted(name, err)
	return response, err
}

func (s *service) prepare(ctx context.Context, r *rollcallv1.PrepareRequest) (*rollcallv1.PrepareResponse, error) {
	o := order{
		claim: r.GetClaim(), epoch: r.GetFence().GetEpoch(), eligible: r.GetEligible(), undo: r.GetUndo(),
		shared: engines.Shared{Knob: r.GetKnob(), Undo: r.GetKnobUndo()}, anew: r.GetAnew(),
	}
	switch r.GetKind() {
	case rollcallv1.PrepareKind_PREPARE_KIND_HANDOFF:
		o.kind = engines.Handoff
	case rollcallv1.PrepareKind_PREPARE_KIND_EVACUATE:
		o.kind = engines.Evacuate
	default:
		return nil, status.Error(codes.InvalidArgument, "kind must be PREPARE_KIND_HANDOFF or PREPARE_KIND_EVACUATE")
	}
	if err := checkOrder(o.claim, o.undo); err != nil {
		return nil, err
	}
	if err := checkShared(o.shared); err != nil {
		return nil, err
	}
	var err error
	if r.GetNode() != "" {
		err = s.checkOtherPod(r)
	} else {
		err = s.checkPod(r.GetPodUid())
	}
	if err != nil {
		return nil, err
	}
	if o.notAfter, err = s.mayOrder(r); err != nil {
		return nil, err
	}
	switch {
	case r.GetNode() != "":
		return s.emptyOther(ctx, o, r.GetNode(), r.GetApply())
	case !r.GetApply():
		return s.plan(ctx, o)
	}
	refused, err := s.drainer.apply(o)
	if err != nil {
		return nil, engineError(ctx, err)
	}
	if refused != "" {
		return &rollcallv1.PrepareResponse{Drain: rollcallv1.Drain_DRAIN_REFUSED, Detail: refused}, nil
	}
	return s.progress(ctx, o.claim), nil
}

func (s *service) plan(ctx context.Context, o order) (*rollcallv1.PrepareResponse, error) {
	will, refused, err := s.drainer.plan(ctx, o)
	switch {
	case err != nil:
		return nil, engineError(ctx, err)
	case refused != "":
		// Not an answer: without undo bytes it would look like nothing to undo.
		return nil, refusal(codes.FailedPrecondition, ReasonOtherClaim, nil, "%s", refused)
	}
	response := &rollcallv1.PrepareResponse{
		Undo: will.undo, Drain: rollcallv1.Drain_DRAIN_NONE, Knob: will.shared.Knob, KnobUndo: will.shared.Undo,
	}
	if j, _ := s.drainer.status(); j.claim == o.claim {
		response.Drain, response.Detail = j.state, j.detail
	}
	return response, nil
}

// progress answers as soon as the claim's job has ended, and after longPoll what
// it is waiting for.
func (s *service) progress(ctx context.Context, claim string) *rollcallv1.PrepareResponse {
	limit := time.NewTimer(longPoll)
	defer limit.Stop()
	for {
		j, changed := s.drainer.status()
		if j.claim != claim {
			return &rollcallv1.PrepareResponse{Drain: rollcallv1.Drain_DRAIN_REFUSED, Detail: "another order took this one's place"}
		}
		response := &rollcallv1.PrepareResponse{
			Undo: j.undo, Drain: j.state, Detail: j.detail,
			Done: uint32(max(0, j.done)), Total: uint32(max(0, j.total)),
		}
		if !j.running() {
			return response
		}
		select {
		case <-changed:
		case <-limit.C:
			return response
		case <-ctx.Done():
			return response
		case <-s.stopping:
			return response
		}
	}
}

func (s *service) Restore(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	response, err := s.restore(ctx, r)
	s.counted(orderRestore, err)
	return response, err
}

func (s *service) restore(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	if r.GetKnob() != "" {
		return s.restoreShared(ctx, r)
	}
	if err := checkOrder(r.GetClaim(), r.GetUndo()); err != nil {
		return nil, err
	}
	if err := s.admit(s.fence.pass, r.GetFence()); err != nil {
		return nil, err
	}
	if of := engines.ClaimOf(r.GetUndo()); of != "" && of != r.GetClaim() {
		return nil, status.Errorf(codes.InvalidArgument, "undo is of claim %.64q, and the order of claim %.64q", of, r.GetClaim())
	}
	progress, err := s.drainer.restore(ctx, r.GetClaim(), r.GetFence().GetEpoch(), r.GetUndo())
	if err != nil {
		return nil, engineError(ctx, err)
	}
	return &rollcallv1.RestoreResponse{Done: progress.State == engines.Done, Detail: progress.Detail}, nil
}

// orderRequest is what all requests that order this pod to write have in common.
type orderRequest interface {
	GetFence() *rollcallv1.Fence
	GetEligible() []string
	GetTerm() *rollcallv1.Term
}

// mayOrder judges an order, and answers the time past which nothing may be
// written for it.
func (s *service) mayOrder(r orderRequest) (notAfter time.Time, err error) {
	if n := len(r.GetEligible()); n > maxEligible {
		return notAfter, status.Errorf(codes.InvalidArgument, "eligible names %d pods; at most %d are allowed", n, maxEligible)
	}
	if notAfter, err = s.endOf(r.GetTerm()); err != nil {
		return notAfter, err
	}
	return notAfter, s.admit(s.fence.pass, r.GetFence())
}

// checkPod: the order is for this very pod.
func (s *service) checkPod(uid string) error {
	v, _ := s.board.newest()
	if uid == v.identity.PodUid {
		return nil
	}
	return refusal(codes.FailedPrecondition, ReasonWrongPod, map[string]string{"pod_uid": v.identity.PodUid},
		"pod_uid is %.64q; this is pod %s with UID %s", uid, v.identity.Pod, v.identity.PodUid)
}

// endOf is the time past which nothing is written for an order, which has not
// passed.
func (s *service) endOf(t *rollcallv1.Term) (time.Time, error) {
	end, err := s.board.run.End(t)
	late := time.Since(end)
	switch {
	case errors.Is(err, term.ErrNone):
		return end, refusal(codes.FailedPrecondition, ReasonNoTerm, nil, "%v", err)
	case errors.Is(err, term.ErrOtherRun):
		return end, refusal(codes.FailedPrecondition, ReasonOtherRun, nil, "%v", err)
	case err != nil:
		return end, status.Error(codes.InvalidArgument, err.Error())
	case late >= 0:
		return end, refusal(codes.FailedPrecondition, ReasonExpired, nil, "the order was good until %s ago; it was too long under way", late.Round(time.Millisecond))
	}
	return end, nil
}

// admit lets an order through the fence. An agent that has just started may not
// know the highest epoch yet, so it hears its peers first.
func (s *service) admit(pass func(*rollcallv1.Fence) error, f *rollcallv1.Fence) error {
	if !s.mesh.heard() {
		return refusal(codes.Unavailable, ReasonNotSynced, nil, "this agent has just started and has not heard from its peers yet")
	}
	roster, _ := s.mesh.roster()
	s.fence.heard(roster.Epoch())
	return pass(f)
}

func (s *service) counted(name string, err error) {
	result := resultOf(err)
	switch result {
	case resultRefused:
		s.logger.Info("order refused", "order", name, "error", err)
	case resultFailed:
		s.logger.Warn("order failed", "order", name, "error", err)
	}
	s.metrics.orders.WithLabelValues(name, result).Inc()
}

// resultOf is what metrics call the end of a request.
func resultOf(err error) string {
	switch status.Code(err) {
	case codes.OK:
		return resultOK
	case codes.FailedPrecondition, codes.InvalidArgument, codes.PermissionDenied, codes.Unavailable, codes.Unimplemented:
		return resultRefused
	}
	return resultFailed
}

func checkOrder(claim string, undo []byte) error {
	switch {
	case claim == "" || len(claim) > maxClaim:
		return status.Errorf(codes.InvalidArgument, "claim must have 1 to %d characters", maxClaim)
	case len(undo) > engines.MaxUndo:
		return status.Errorf(codes.InvalidArgument, "undo has %d bytes; at most %d are allowed", len(undo), engines.MaxUndo)
	}
	return nil
}

// engineError gives an adapter's failure a code that a caller can act on: all of
// them may be tried again.
func engineError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errNoEngine):
		return refusal(codes.Unavailable, ReasonNotConfigured, nil, "%v", err)
	case errors.Is(err, engines.ErrOwnAgentOnly):
		return refusal(codes.FailedPrecondition, ReasonOwnAgentOnly, nil, "%v", err)
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	default:
		return status.Error(codes.Aborted, err.Error())
	}
}
