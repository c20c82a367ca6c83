package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/serve"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// neighbour is a connection with the certificate of another database's agent, for which
// no method is open here.
func (m *member) neighbour() *tls.Conn {
	m.ring.t.Helper()
	c := m.ring.authority.Agent(config.ServerName(testNamespace, testCluster), config.ServerName(testNamespace, "other"))
	c.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", m.rpc, c)
	require.NoError(m.ring.t, err)
	m.ring.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestNeighboursEndNoConnectionOfACoordinator checks that who has a certificate of another database
// is no better than a stranger, however many connections he makes.
func TestNeighboursEndNoConnectionOfACoordinator(t *testing.T) {
	m := three(t).members[0]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := m.as(config.RoleCoordinator).WatchReport(ctx, &rollcallv1.WatchReportRequest{}, grpc.WaitForReady(true))
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	for range serve.GRPCLimits.Known + 10 {
		_, _ = m.neighbour().Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	}
	time.Sleep(time.Second)
	for range 3 { // one comes each 5 s at least
		_, err = stream.Recv()
		require.NoError(t, err, "the coordinator's stream of reports was ended to make room for neighbours")
	}
}

// TestHeadersTakeNoMemory checks that headers are bounded: without a bound, a neighbour that may
// call nothing turns 8 KiB on the network into 12 MiB of memory for as long as it likes.
func TestHeadersTakeNoMemory(t *testing.T) {
	m := three(t).members[0]
	conn := m.neighbour()
	frame := func(kind, flags byte, stream uint32, payload []byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
		b = append(b, kind, flags)
		return append(binary.BigEndian.AppendUint32(b, stream), payload...)
	}
	_, err := conn.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, nil)...))
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	before := heap()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	const streams = 8
	for i := range streams {
		block.Reset()
		for _, f := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "a"},
			{Name: ":path", Value: rollcallv1.AgentService_GetReport_FullMethodName}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
		} {
			require.NoError(t, encoder.WriteField(f))
		}
		for range 4000 {
			require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: "x-bin", Value: string(bytes.Repeat([]byte("A"), 4056))}))
		}
		require.Less(t, block.Len(), 16<<10)
		_, err = conn.Write(frame(1, 4, uint32(2*i+1), block.Bytes()))
		require.NoError(t, err)
	}
	time.Sleep(3 * time.Second)
	require.Less(t, heap()-before, int64(16<<20), "an agent has 128 MiB, and each connection may have 64 such streams")
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
