package tracing

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// Tracer makes spans of decisions. It is an Observer of a Board. It never waits, and holds no more
// than the open claims.
type Tracer struct {
	tracer trace.Tracer

	mu   sync.Mutex
	open map[status.Key]map[string]*restart // by the claim's ID
}

// restart is an open claim.
type restart struct {
	ctx   context.Context // carries the span of the restart as a whole
	whole trace.Span
	phase model.ClaimPhase
	part  trace.Span
}

// NewTracer returns a Tracer that makes spans with a tracer.
func NewTracer(tracer trace.Tracer) *Tracer {
	return &Tracer{tracer: tracer, open: map[status.Key]map[string]*restart{}}
}

// Decided implements status.Observer.
func (t *Tracer) Decided(_ *status.Decision, next status.Decision) {
	t.mu.Lock()
	defer t.mu.Unlock()
	open := t.open[next.Key]
	there := map[string]bool{}
	for _, claim := range next.Claims {
		there[claim.ID] = true
		r := open[claim.ID]
		if r == nil {
			if open == nil {
				open = map[string]*restart{}
				t.open[next.Key] = open
			}
			r = t.begin(next, claim)
			open[claim.ID] = r
		}
		t.enter(r, claim.Phase, next)
		if why := next.Waiting[claim.Pod]; why != "" {
			r.part.SetAttributes(keyWaiting.String(why))
		}
	}
	for id, r := range open {
		if !there[id] {
			at := trace.WithTimestamp(next.DecidedAt)
			r.part.End(at)
			r.whole.End(at)
			delete(open, id)
		}
	}
	if len(open) == 0 {
		delete(t.open, next.Key)
	}
}

// begin begins the span of the restart as a whole. It began with its claim, whoever wrote that.
func (t *Tracer) begin(d status.Decision, claim model.Claim) *restart {
	began := claim.StartedAt.Time
	if began.IsZero() {
		began = d.DecidedAt
	}
	ctx := context.WithValue(context.Background(), identityKey{}, identityOf(d.Snapshot.Cluster.UID, claim.ID))
	ctx, span := t.tracer.Start(ctx, string(claim.Action)+" "+claim.Pod, trace.WithNewRoot(), trace.WithTimestamp(began), trace.WithAttributes(
		keyCluster.String(d.Key.String()), keyEngine.String(string(d.Snapshot.Cluster.Spec.Engine)), keyClaim.String(claim.ID),
		keyAction.String(string(claim.Action)), keyReason.String(string(claim.Reason)), keyPrepare.String(string(claim.Prepare)),
		keyFrom.String(claim.From), keyTo.String(claim.To),
		attribute.String("k8s.namespace.name", d.Key.Namespace), attribute.String("k8s.pod.name", claim.Pod), attribute.String("k8s.pod.uid", claim.UID),
	))
	return &restart{ctx: ctx, whole: span}
}

// enter ends the previous phase and begins the next.
func (t *Tracer) enter(r *restart, phase model.ClaimPhase, d status.Decision) {
	if r.part != nil && r.phase == phase {
		return
	}
	if r.part != nil {
		r.part.End(trace.WithTimestamp(d.DecidedAt))
	}
	_, r.part = t.tracer.Start(r.ctx, string(phase), trace.WithTimestamp(d.DecidedAt),
		trace.WithAttributes(keyEpoch.Int64(d.Snapshot.Cluster.Status.Epoch)))
	r.phase = phase
}

// Gone implements status.Observer: the cluster is gone, or another coordinator leads and reports
// how it ends.
func (t *Tracer) Gone(key status.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.open[key] {
		r.part.SetAttributes(keyHandover.Bool(true))
		r.part.End(trace.WithTimestamp(time.Now()))
	}
	delete(t.open, key)
}
