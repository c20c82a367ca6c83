package agents

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/coordinator/agents/wire"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// codec checks the bytes of what one agent sends before it decodes them. Requests to the agent are
// not changed.
type codec struct {
	encoding.CodecV2
	agents *Agents
	from   *agent
	meter  *meter
}

var errNoMessage = errors.New("no message of an agent")

func (a *Agents) codec(g *agent, m *meter) codec {
	return codec{encoding.GetCodecV2(grpcproto.Name), a, g, m}
}

// Unmarshal is called while nothing else of the stream is read.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	defer c.meter.settle(data.Len())
	into, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%w: %T", errNoMessage, v)
	}
	refusal := wire.Fits(data.Len(), into)
	if refusal == nil {
		refusal = c.decode(data, into)
	}
	if refusal == nil {
		return nil
	}
	c.agents.refuse(c.from, streamOf(v), refusal)
	return refusal
}

// decode has only one large message at a time in memory twice.
func (c codec) decode(data mem.BufferSlice, into proto.Message) *wire.Refusal {
	if data.Len() > unsettled {
		c.agents.decoding <- struct{}{}
		defer func() { <-c.agents.decoding }()
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	return wire.Decode(buffer.ReadOnlyData(), into)
}

// streamOf returns the stream of such a message.
func streamOf(message any) string {
	switch message.(type) {
	case *rollcallv1.Report:
		return reports
	case *rollcallv1.Roster:
		return rosters
	}
	return answers
}

// compressed refuses compressed messages: a few bytes could become megabytes, and no agent sends
// them. gRPC would accept them, because the exporter of traces has registered gzip. No other
// compressor is linked in.
type compressed struct {
	agents *Agents
	from   *agent
}

func (compressed) Type() string { return "gzip" }

func (c compressed) Do(io.Reader) ([]byte, error) {
	refusal := &wire.Refusal{Reason: wire.Malformed, Text: "it is compressed"}
	c.agents.refuse(c.from, connection, refusal)
	return nil, refusal
}
