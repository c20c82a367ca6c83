package status

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestAnswersThatNobodyReadsAreBounded: who may read one database asks for its snapshot over and over, and reads none of the answers.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	d := search(t, func(s *policy.Snapshot) {
		for i := range s.Pods {
			s.Pods[i].Report.Veto = strings.Repeat("x", 512<<10) // as thousands of shards are
		}
	})
	conn, _ := serve(t, leading(d))
	heap := func() int64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
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
