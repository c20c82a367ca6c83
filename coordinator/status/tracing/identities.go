package tracing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"
)

// identity is that of a trace and of the span of the restart as a whole.
type identity struct {
	trace trace.TraceID
	root  trace.SpanID
}

// identityOf derives the identity from the claim alone, whose ID is unique in its cluster.
func identityOf(clusterUID, claim string) identity {
	sum := sha256.Sum256([]byte(clusterUID + "/" + claim))
	var id identity
	copy(id.trace[:], sum[:16])
	copy(id.root[:], sum[16:24])
	return id
}

type identityKey struct{}

// identities generates the identities that the context carries, for spans that have no parent. All
// others are random.
type identities struct{}

// NewIDs implements sdk.IDGenerator.
func (i identities) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if id, ok := ctx.Value(identityKey{}).(identity); ok {
		return id.trace, id.root
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // never fails
	return id, i.NewSpanID(ctx, id)
}

// NewSpanID implements sdk.IDGenerator.
func (identities) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var id trace.SpanID
	_, _ = rand.Read(id[:])
	return id
}
