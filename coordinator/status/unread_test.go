package status

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

// Who may read one database asks for its snapshot over and over, and reads none of the answers.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	race.Heavy(t)
	d := search(t, func(s *model.Snapshot) {
		for i := range s.Pods {
			s.Pods[i].Report.Veto = strings.Repeat("x", 512<<10) // as thousands of shards are
		}
	})
	conn, _ := serve(t, leading(d))
	before := heap()
	for range 32 {
		stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, rollcallv1.CoordinatorService_GetSnapshot_FullMethodName)
		require.NoError(t, err)
		require.NoError(t, stream.SendMsg(&rollcallv1.GetSnapshotRequest{Namespace: "prod", Name: "search"}))
		require.NoError(t, stream.CloseSend())
	}
	time.Sleep(3 * time.Second)
	require.Less(t, heap()-before, int64(32<<20), "of one connection, of which there may be 256 from the pod itself; the coordinator has 256 MiB")
}

// TestSmallAnswersThatNobodyReadsAreBounded, too: each of 60 KiB took 1 MiB, and 512 of them, of 16 connections, more than a
// coordinator has.
func TestSmallAnswersThatNobodyReadsAreBounded(t *testing.T) {
	race.Heavy(t)
	d := search(t, func(s *model.Snapshot) {
		for i := range s.Pods {
			s.Pods[i].Report.Veto = strings.Repeat("x", 11<<10)
		}
	})
	address := serveOverTCP(t, leading(d))
	request := &rollcallv1.GetSnapshotRequest{Namespace: "prod", Name: "search"}
	one, err := snapshotOf(d)
	require.NoError(t, err)
	require.Less(t, proto.Size(one), 64<<10)
	before := heap()
	for range 64 {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write(unreadCalls(t, 32, request))
		require.NoError(t, err)
	}
	time.Sleep(3 * time.Second)
	require.Less(t, heap()-before, int64(64<<20), "the coordinator has 256 MiB")
}

// unreadCalls are so many for a snapshot, as whoever reads nothing writes them.
func unreadCalls(t *testing.T, n int, request *rollcallv1.GetSnapshotRequest) []byte {
	text, err := proto.Marshal(request)
	require.NoError(t, err)
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text))), text...)
	frame := func(kind, flags byte, stream uint32, payload []byte) []byte {
		b := append(binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:], kind, flags)
		return append(binary.BigEndian.AppendUint32(b, stream), payload...)
	}
	all := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, nil)...)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range n {
		block.Reset()
		for _, f := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "a"},
			{Name: ":path", Value: rollcallv1.CoordinatorService_GetSnapshot_FullMethodName}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
		} {
			require.NoError(t, encoder.WriteField(f))
		}
		all = append(all, frame(1, 4, uint32(2*i+1), block.Bytes())...)
		all = append(all, frame(0, 1, uint32(2*i+1), message)...)
	}
	return all
}

// Nine connections hold all that there may be; whoever asks next gets an answer nevertheless, and
// who reads is not ended.
func TestWhoReadsNothingMakesRoom(t *testing.T) {
	race.Heavy(t)
	d := search(t, func(s *model.Snapshot) {
		for i := range s.Pods {
			s.Pods[i].Report.Veto = strings.Repeat("x", 1<<20)
		}
	})
	address := serveOverTCP(t, leading(d))
	dial := func() *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	request := &rollcallv1.GetSnapshotRequest{Namespace: "prod", Name: "search"}
	patient, done := context.WithTimeout(t.Context(), 4*unreadPatience)
	defer done()
	good := rollcallv1.NewCoordinatorServiceClient(dial())
	for range 20 { // what was read is not held
		_, err := good.GetSnapshot(patient, request)
		require.NoError(t, err)
	}
	var streams []grpc.ClientStream
	for range 9 {
		stream, err := dial().NewStream(patient, &grpc.StreamDesc{ServerStreams: true}, rollcallv1.CoordinatorService_GetSnapshot_FullMethodName)
		require.NoError(t, err)
		require.NoError(t, stream.SendMsg(request))
		require.NoError(t, stream.CloseSend())
		streams = append(streams, stream)
	}
	began := time.Now()
	time.Sleep(time.Second)
	answer, err := good.GetSnapshot(patient, request)
	require.NoError(t, err)
	require.Greater(t, len(answer.GetSnapshotJson()), 3<<20)
	require.Greater(t, time.Since(began), unreadPatience-time.Second, "there was no room")
	require.Less(t, time.Since(began), 2*unreadPatience)
	for _, stream := range streams { // all but those that were ended are answered in the end
		_ = stream.RecvMsg(&rollcallv1.GetSnapshotResponse{})
	}
	for range 20 {
		_, err := good.GetSnapshot(patient, request)
		require.NoError(t, err)
	}
}

// heap is how many bytes of it are in use.
func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// serveOverTCP is serve for connections of the test's own, at the address.
func serveOverTCP(t *testing.T, board *Board) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	server := NewServer(board, insecure.NewCredentials())
	go func() { ended <- server.Run(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return listener.Addr().String()
}
