// Package tracing exports restarts as OpenTelemetry traces: one trace for each claim, one span in
// it for each phase. It is off unless the environment names a collector, by the variables that
// OpenTelemetry itself defines.
//
// The identity of a trace follows from that of its claim, so the spans of two leaders for one
// restart form one trace: each exports the phases that it saw, and the one that sees the end
// exports the restart as a whole.
package tracing

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
)

// The variables that name a collector, of which one turns traces on.
const (
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
)

// Enabled reports whether the environment names a collector.
func Enabled() bool { return os.Getenv(envEndpoint) != "" || os.Getenv(envTracesEndpoint) != "" }

// Exporter sends spans to the collector that the environment names, over gRPC. It drops what it
// cannot send.
type Exporter struct {
	*Tracer
	provider *sdk.TracerProvider
}

// NewExporter returns an Exporter configured from the environment. It connects later.
func NewExporter(ctx context.Context, version, instance string) (*Exporter, error) {
	client, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	what, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("rollcall-coordinator"), semconv.ServiceVersion(version), semconv.ServiceInstanceID(instance)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have the last word
	)
	if err != nil {
		return nil, fmt.Errorf("traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(client), sdk.WithResource(what), sdk.WithIDGenerator(identities{}))
	return &Exporter{Tracer: NewTracer(provider.Tracer("github.com/rollcall-dev/rollcall")), provider: provider}, nil
}

// Close sends what is left, while ctx lasts.
func (e *Exporter) Close(ctx context.Context) error { return e.provider.Shutdown(ctx) }

// Keys of attributes.
const (
	keyCluster  = attribute.Key("rollcall.cluster")
	keyEngine   = attribute.Key("rollcall.engine")
	keyClaim    = attribute.Key("rollcall.claim")
	keyAction   = attribute.Key("rollcall.action")
	keyReason   = attribute.Key("rollcall.reason")
	keyPrepare  = attribute.Key("rollcall.drain")
	keyEpoch    = attribute.Key("rollcall.epoch")
	keyFrom     = attribute.Key("rollcall.revision.from")
	keyTo       = attribute.Key("rollcall.revision.to")
	keyWaiting  = attribute.Key("rollcall.waiting_for")
	keyHandover = attribute.Key("rollcall.leader_lost")
)
