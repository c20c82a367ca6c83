package agent

import (
	"crypto/tls"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/serve"
	"github.com/rollcall-dev/rollcall/engines/memory"
	"github.com/rollcall-dev/rollcall/test/race"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// readersCalls is how many calls of readers there may be at a time.
const readersCalls = 16

// TestReadersWhoReadNothing asks with the reader's key for the report of 20,000 shards over and
// over, and reads none of it. The agent, which has 128 MiB, survives, and its coordinator and
// another reader still hear it.
func TestReadersWhoReadNothing(t *testing.T) {
	race.Heavy(t)
	database := memory.New(memory.Options{}, node(0), node(1), node(2))
	for i := range 20000 {
		database.AddGroup(fmt.Sprintf("books/s%d", i), node(0), node(1), node(2))
	}
	m := threeOver(t, database).members[0]
	heap := func() int64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc + s.StackInuse)
	}
	size := proto.Size(m.report(false))
	require.Greater(t, size, 1400<<10)
	watched, err := m.as(config.RoleCoordinator).WatchReport(t.Context(), &rollcallv1.WatchReportRequest{AllGroups: true})
	require.NoError(t, err)
	before := heap()
	for method, request := range map[string]proto.Message{
		rollcallv1.AgentService_GetReport_FullMethodName:   &rollcallv1.GetReportRequest{AllGroups: true},
		rollcallv1.AgentService_WatchReport_FullMethodName: &rollcallv1.WatchReportRequest{AllGroups: true},
	} {
		for range 2 {
			delete(m.clients, config.RoleReader)
			conn := m.connection(config.RoleReader)
			for range 64 {
				stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, method)
				if err == nil {
					err = stream.SendMsg(request)
				}
				if err == nil {
					err = stream.CloseSend()
				}
				if err != nil { // it was ended to make room
					break
				}
			}
			_, err := watched.Recv()
			require.NoError(t, err)
		}
	}
	time.Sleep(2 * time.Second)
	eventually(t, "what is held is little", func() bool { return heap()-before < 16<<20 })
	_, err = watched.Recv()
	require.NoError(t, err)
	delete(m.clients, config.RoleReader)
	for range 3 * readersCalls { // what was read is not held
		require.Greater(t, proto.Size(m.report(false)), 1400<<10)
	}
	require.Positive(t, m.readersEnded())
}

// readersEnded is how many connections of readers were ended.
func (m *member) readersEnded() float64 {
	return testutil.ToFloat64(m.agent.metrics.serve.Connections.WithLabelValues("grpc", "reader"))
}

// TestReadersHaveFewCalls, however little is answered: each takes memory for as long as it goes on.
func TestReadersHaveFewCalls(t *testing.T) {
	m := three(t).members[0]
	watch := func(n int) {
		delete(m.clients, config.RoleReader)
		for range n {
			stream, err := m.as(config.RoleReader).WatchRoster(t.Context(), &rollcallv1.WatchRosterRequest{}, grpc.WaitForReady(true))
			require.NoError(t, err)
			_, err = stream.Recv()
			require.NoError(t, err)
		}
	}
	watch(readersCalls)
	require.Zero(t, m.readersEnded())
	watch(1)
	require.Equal(t, 1.0, m.readersEnded())
	watch(readersCalls - 1)
	require.Equal(t, 1.0, m.readersEnded())
}

// TestReadersEndNoConnectionOfACoordinator, from however many addresses they come.
func TestReadersEndNoConnectionOfACoordinator(t *testing.T) {
	m := three(t).members[0]
	stream, err := m.as(config.RoleCoordinator).WatchReport(t.Context(), &rollcallv1.WatchReportRequest{}, grpc.WaitForReady(true))
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	security := m.ring.authority.Client(config.ServerName(testNamespace, testCluster), config.RoleReader)
	security.NextProtos = []string{"h2"}
	for i := range serve.GRPCLimits.Known + 10 {
		from := &net.TCPAddr{IP: net.IPv4(127, 78, byte(i/250), byte(1+i%250))}
		conn, err := tls.DialWithDialer(&net.Dialer{LocalAddr: from}, "tcp", m.rpc, security)
		require.NoError(t, err)
		defer conn.Close()
		_, _ = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	}
	time.Sleep(time.Second)
	for range 3 { // one comes each 5 s at least
		_, err = stream.Recv()
		require.NoError(t, err, "the coordinator's stream of reports was ended to make room for readers")
	}
}
