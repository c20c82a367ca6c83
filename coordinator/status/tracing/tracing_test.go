package tracing

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// decision is one of prod/search, so many seconds after noon, with claims on
// search-0, search-1, ... in these phases; an empty one is no claim.
func decision(seconds int, epoch int64, phases ...model.ClaimPhase) status.Decision {
	d := status.Decision{Key: status.Key{Namespace: "prod", Name: "search"}, Moment: progress.Moment{DecidedAt: noon.Add(time.Duration(seconds) * time.Second)}}
	d.Snapshot.Cluster.UID = "c1"
	d.Snapshot.Cluster.Spec.Engine = "Solr"
	d.Snapshot.Cluster.Status.Epoch = epoch
	for i, phase := range phases {
		if phase != "" {
			d.Claims = append(d.Claims, model.Claim{
				ID: fmt.Sprintf("k%d", i), Pod: fmt.Sprintf("search-%d", i), UID: fmt.Sprintf("u%d", i), Action: model.ActionRestart,
				Reason: model.ReasonOutdated, Prepare: model.PrepareHandoff, Phase: phase, StartedAt: model.At(noon.Add(time.Second)),
			})
		}
	}
	return d
}

// recording is a Tracer whose spans are kept.
func recording() (*Tracer, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder), sdk.WithIDGenerator(identities{}))
	return NewTracer(provider.Tracer("test")), recorder
}

// told are the spans that have ended, as name, seconds after noon, and how long.
func told(recorder *tracetest.SpanRecorder) []string {
	var list []string
	for _, s := range recorder.Ended() {
		list = append(list, fmt.Sprintf("%s %v+%v", s.Name(), s.StartTime().Sub(noon).Seconds(), s.EndTime().Sub(s.StartTime()).Seconds()))
	}
	return list
}

// Each phase a span of it, from decision to decision.
func TestARestartIsATrace(t *testing.T) {
	tracer, recorder := recording()
	for _, d := range []status.Decision{
		decision(0, 3),
		decision(2, 3, model.PhaseClaimed),
		decision(3, 3, model.PhaseDraining),
		decision(4, 3, model.PhaseDraining),
		decision(9, 3, model.PhaseGone, model.PhaseDraining),
		decision(20, 3, model.PhaseRejoined, model.PhaseDraining),
		decision(30, 3, "", model.PhaseDraining),
	} {
		tracer.Decided(nil, d)
	}
	require.Equal(t, []string{"Claimed 2+1", "Draining 3+6", "Gone 9+11", "Rejoined 20+10", "Restart search-0 1+29"}, told(recorder))
	whole := recorder.Ended()[4]
	for _, part := range recorder.Ended()[:4] {
		require.Equal(t, whole.SpanContext().SpanID(), part.Parent().SpanID())
		require.Equal(t, whole.SpanContext().TraceID(), part.SpanContext().TraceID())
	}
	attributes := attribute.NewSet(whole.Attributes()...)
	for key, want := range map[attribute.Key]string{
		keyCluster: "prod/search", keyEngine: "Solr", keyClaim: "k0", keyReason: "Outdated", "k8s.pod.name": "search-0", "k8s.pod.uid": "u0",
	} {
		value, ok := attributes.Value(key)
		require.True(t, ok, key)
		require.Equal(t, want, value.AsString())
	}
	require.Len(t, tracer.open, 1, "search-1 is on its way")
	tracer.Decided(nil, decision(40, 3))
	require.Empty(t, tracer.open)
}

// The second tells the restart as a whole, from its beginning; the first ends the phase in which it
// was.
func TestTwoLeadersTellOneTrace(t *testing.T) {
	first, before := recording()
	first.Decided(nil, decision(2, 3, model.PhaseDraining))
	first.Gone(status.Key{Namespace: "prod", Name: "search"})
	require.Empty(t, first.open)
	require.Len(t, before.Ended(), 1)
	attributes := attribute.NewSet(before.Ended()[0].Attributes()...)
	handover, ok := attributes.Value(keyHandover)
	require.True(t, ok && handover.AsBool())

	second, after := recording()
	second.Decided(nil, decision(20, 4, model.PhaseGone))
	second.Decided(nil, decision(30, 4))
	require.Equal(t, []string{"Gone 20+10", "Restart search-0 1+29"}, told(after))
	require.Equal(t, after.Ended()[1].SpanContext().TraceID(), before.Ended()[0].SpanContext().TraceID())
	require.Equal(t, after.Ended()[1].SpanContext().SpanID(), before.Ended()[0].Parent().SpanID())

	require.NotEqual(t, identityOf("c1", "k0"), identityOf("c2", "k0"))
	require.NotEqual(t, identityOf("c1", "k0"), identityOf("c1", "k1"))
}

// TestWhatARestartWaitsForIsTold with the phase in which it does.
func TestWhatARestartWaitsForIsTold(t *testing.T) {
	tracer, recorder := recording()
	d := decision(2, 3, model.PhaseDraining)
	d.Waiting = map[string]string{"search-0": "shard1 has a new leader"}
	tracer.Decided(nil, d)
	tracer.Decided(nil, decision(5, 3))
	attributes := attribute.NewSet(recorder.Ended()[0].Attributes()...)
	why, _ := attributes.Value(keyWaiting)
	require.Equal(t, "shard1 has a new leader", why.AsString())
}

// sink is a collector.
type sink struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []*otlp.Span
	names []string
}

func (s *sink) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range r.GetResourceSpans() {
		for _, a := range of.GetResource().GetAttributes() {
			s.names = append(s.names, a.GetKey()+"="+a.GetValue().GetStringValue())
		}
		for _, scope := range of.GetScopeSpans() {
			s.spans = append(s.spans, scope.GetSpans()...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// TestSpansReachACollector, over gRPC, where the environment says that there is one.
func TestSpansReachACollector(t *testing.T) {
	require.False(t, Enabled())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s, server := &sink{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	t.Setenv(envEndpoint, "http://"+listener.Addr().String())
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	require.True(t, Enabled())
	exporter, err := NewExporter(t.Context(), "v1.2.3", "coordinator-0")
	require.NoError(t, err)
	board := status.NewBoard(exporter)
	board.Lead()
	board.Publish(decision(2, 3, model.PhaseGone))
	board.Publish(decision(5, 3))
	require.NoError(t, exporter.Close(t.Context()))

	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.spans, 2)
	require.Contains(t, s.names, "service.name=rollcall-coordinator")
	require.Contains(t, s.names, "service.version=v1.2.3")
	require.Contains(t, s.names, "deployment.environment.name=test")
}

// TestNobodyWaitsForACollector that does not answer.
func TestNobodyWaitsForACollector(t *testing.T) {
	t.Setenv(envTracesEndpoint, "http://127.0.0.1:1")
	exporter, err := NewExporter(t.Context(), "v1.2.3", "coordinator-0")
	require.NoError(t, err)
	for i := range 5000 {
		exporter.Decided(nil, decision(2*i, 3, model.PhaseGone))
		exporter.Decided(nil, decision(2*i+1, 3))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = exporter.Close(ctx)
}
