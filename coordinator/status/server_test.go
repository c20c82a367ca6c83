package status

import (
	"context"
	"encoding/json"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// serve runs a server over the board and gives a connection to it. The stop
// function ends the server and returns when it has.
func serve(t *testing.T, board *Board) (conn *grpc.ClientConn, stop func()) {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	server := NewServer(board, nil)
	go func() { ended <- server.Run(ctx, listener) }()
	conn, err := grpc.NewClient("passthrough:///board",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	require.NoError(t, err)
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-ended)
		}
	}
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
	})
	return conn, stop
}

func leading(decisions ...Decision) *Board {
	b := NewBoard()
	b.Lead()
	for _, d := range decisions {
		b.Publish(d)
	}
	return b
}

func TestServerAnswers(t *testing.T) {
	conn, _ := serve(t, leading(search(t, claimed(model.PhaseDrained))))
	client := rollcallv1.NewCoordinatorServiceClient(conn)
	ctx := t.Context()

	list, err := client.ListClusters(ctx, &rollcallv1.ListClustersRequest{})
	require.NoError(t, err)
	require.Len(t, list.GetClusters(), 1)
	list, err = client.ListClusters(ctx, &rollcallv1.ListClustersRequest{Namespace: "other"})
	require.NoError(t, err)
	require.Empty(t, list.GetClusters())

	c, err := client.GetCluster(ctx, &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "search"})
	require.NoError(t, err)
	require.Equal(t, "Solr", c.GetEngine())
	require.EqualValues(t, 12, c.GetEpoch())
	require.EqualValues(t, 3, c.GetPods().GetDesired())
	require.Equal(t, "Drained", c.GetClaims()[0].GetPhase())
	require.Equal(t, "Drained", c.GetPodStates()[1].GetClaimPhase())
	require.Equal(t, []string{"overseer"}, c.GetPodStates()[0].GetRoles())
	require.True(t, c.GetPodStates()[2].GetUpdated())
	require.EqualValues(t, 1, c.GetPlan().GetBudget().GetPodLimit())

	plan, err := client.GetPlan(ctx, &rollcallv1.GetPlanRequest{Namespace: "prod", Name: "search"})
	require.NoError(t, err)
	require.Equal(t, search(t, claimed(model.PhaseDrained)).Plan.Text(), plan.GetText())
	require.Equal(t, "search-1", plan.GetPlan().GetOrder()[0])

	e, err := client.Explain(ctx, &rollcallv1.ExplainRequest{Namespace: "prod", Name: "search", Pod: "search-0"})
	require.NoError(t, err)
	require.Equal(t, "Hold", e.GetVerdict())
	require.NotEmpty(t, e.GetFacts())
}

// What was refused is told with a cluster, and wakes nobody who watches it.
func TestRefusalEvents(t *testing.T) {
	b := leading(search(t))
	b.RefusedBy(func(key Key) []*rollcallv1.Refusal {
		return []*rollcallv1.Refusal{{Pod: key.Name + "-0", What: "gossip: key", Count: 3}}
	})
	conn, _ := serve(t, b)
	client := rollcallv1.NewCoordinatorServiceClient(conn)
	c, err := client.GetCluster(t.Context(), &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "search"})
	require.NoError(t, err)
	require.Equal(t, "search-0", c.GetRefusals()[0].GetPod())
	list, err := client.ListClusters(t.Context(), &rollcallv1.ListClustersRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 3, list.GetClusters()[0].GetRefusals()[0].GetCount())
	watch, err := client.WatchCluster(t.Context(), &rollcallv1.WatchClusterRequest{Namespace: "prod", Name: "search"})
	require.NoError(t, err)
	c, err = watch.Recv()
	require.NoError(t, err)
	require.Empty(t, c.GetRefusals())
}

// What is saved can be decided on again, and gives the same plan: also when a claim was
// made since.
func TestSnapshotReproducesThePlan(t *testing.T) {
	d := search(t)
	d.Claims = search(t, claimed(model.PhaseClaimed)).Claims
	require.NotEqual(t, d.Snapshot.Cluster.Status.Claims, d.Claims)
	conn, _ := serve(t, leading(d))
	resp, err := rollcallv1.NewCoordinatorServiceClient(conn).GetSnapshot(t.Context(), &rollcallv1.GetSnapshotRequest{Namespace: "prod", Name: "search"})
	require.NoError(t, err)
	snapshot, err := model.Decode([]byte(resp.GetSnapshotJson()))
	require.NoError(t, err)
	again, err := json.Marshal(policy.Decide(snapshot))
	require.NoError(t, err)
	require.JSONEq(t, resp.GetPlanJson(), string(again))
}

func TestServerErrors(t *testing.T) {
	conn, _ := serve(t, leading(search(t)))
	client := rollcallv1.NewCoordinatorServiceClient(conn)
	_, err := client.GetCluster(t.Context(), &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "other"})
	require.Equal(t, codes.NotFound, grpcstatus.Code(err))
	require.ErrorContains(t, err, "DatabaseCluster prod/other")
	_, err = client.GetPlan(t.Context(), &rollcallv1.GetPlanRequest{Name: "search"})
	require.Equal(t, codes.InvalidArgument, grpcstatus.Code(err))
	_, err = client.Explain(t.Context(), &rollcallv1.ExplainRequest{Namespace: "prod", Name: "search"})
	require.Equal(t, codes.InvalidArgument, grpcstatus.Code(err))
	_, err = client.Explain(t.Context(), &rollcallv1.ExplainRequest{Namespace: "prod", Name: "search", Pod: "search-9"})
	require.Equal(t, codes.NotFound, grpcstatus.Code(err))
}

func TestStandbyNamesTheLeader(t *testing.T) {
	board := NewBoard()
	board.Follow("10.0.0.2:7950")
	conn, _ := serve(t, board)
	client := rollcallv1.NewCoordinatorServiceClient(conn)
	calls := map[string]func() error{
		"ListClusters": func() error {
			_, err := client.ListClusters(t.Context(), &rollcallv1.ListClustersRequest{})
			return err
		},
		"GetCluster": func() error {
			_, err := client.GetCluster(t.Context(), &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "search"})
			return err
		},
		"GetPlan": func() error {
			_, err := client.GetPlan(t.Context(), &rollcallv1.GetPlanRequest{Namespace: "prod", Name: "search"})
			return err
		},
		"GetSnapshot": func() error {
			_, err := client.GetSnapshot(t.Context(), &rollcallv1.GetSnapshotRequest{Namespace: "prod", Name: "search"})
			return err
		},
		"Explain": func() error {
			_, err := client.Explain(t.Context(), &rollcallv1.ExplainRequest{Namespace: "prod", Name: "search", Pod: "search-0"})
			return err
		},
		"WatchCluster": func() error {
			stream, err := client.WatchCluster(t.Context(), &rollcallv1.WatchClusterRequest{Namespace: "prod", Name: "search"})
			require.NoError(t, err)
			_, err = stream.Recv()
			return err
		},
		"ListJournal": func() error {
			stream, err := client.ListJournal(t.Context(), &rollcallv1.ListJournalRequest{Namespace: "prod", Name: "search"})
			require.NoError(t, err)
			_, err = stream.Recv()
			return err
		},
	}
	require.Len(t, calls, len(rollcallv1.CoordinatorService_ServiceDesc.Methods)+len(rollcallv1.CoordinatorService_ServiceDesc.Streams))
	for name, call := range calls {
		st := grpcstatus.Convert(call())
		require.Equal(t, codes.Unavailable, st.Code(), name)
		require.Len(t, st.Details(), 1, name)
		info, ok := st.Details()[0].(*errdetails.ErrorInfo)
		require.True(t, ok)
		require.Equal(t, ReasonNotLeader, info.GetReason())
		require.Equal(t, "10.0.0.2:7950", info.GetMetadata()[MetadataLeader])
	}
}

func TestWatchSendsChangesOnly(t *testing.T) {
	board := leading(search(t))
	conn, _ := serve(t, board)
	stream, err := rollcallv1.NewCoordinatorServiceClient(conn).WatchCluster(t.Context(), &rollcallv1.WatchClusterRequest{Namespace: "prod", Name: "search"})
	require.NoError(t, err)
	first, err := stream.Recv()
	require.NoError(t, err)
	require.Empty(t, first.GetClaims())

	// The same but for the time and the age of reports: no news.
	board.Publish(search(t, later(time.Second), func(s *model.Snapshot) { podOf(s, "search-0").Report.AgeSeconds = 0.1 }))
	board.Publish(search(t, claimed(model.PhaseClaimed)))
	second, err := stream.Recv()
	require.NoError(t, err)
	require.Len(t, second.GetClaims(), 1)

	board.Follow("10.0.0.2:7950")
	_, err = stream.Recv()
	require.Equal(t, codes.Unavailable, grpcstatus.Code(err), "who watched must ask the new leader")
}

func TestWatchEndsWithTheCluster(t *testing.T) {
	board := leading(search(t))
	conn, _ := serve(t, board)
	stream, err := rollcallv1.NewCoordinatorServiceClient(conn).WatchCluster(t.Context(), &rollcallv1.WatchClusterRequest{Namespace: "prod", Name: "search"})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	board.Remove(Key{Namespace: "prod", Name: "search"})
	_, err = stream.Recv()
	require.Equal(t, codes.NotFound, grpcstatus.Code(err))
}

func TestStoppingEndsWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, stop := serve(t, leading(search(t)))
		stream, err := rollcallv1.NewCoordinatorServiceClient(conn).WatchCluster(t.Context(), &rollcallv1.WatchClusterRequest{Namespace: "prod", Name: "search"})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err)
		begun := time.Now()
		stop()
		require.Less(t, time.Since(begun), stopTimeout, "a watch must not hold up the end")
		_, err = stream.Recv()
		require.Equal(t, codes.Unavailable, grpcstatus.Code(err))
	})
}

// What grpcurl needs when it has no .proto file.
func TestHealthAndReflection(t *testing.T) {
	conn, _ := serve(t, NewBoard())
	for _, service := range []string{"", "rollcall.v1.CoordinatorService"} {
		resp, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		require.NoError(t, err)
		require.Equal(t, healthv1.HealthCheckResponse_SERVING, resp.GetStatus())
	}
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}))
	resp, err := stream.Recv()
	require.NoError(t, err)
	var names []string
	for _, s := range resp.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	require.Contains(t, names, "rollcall.v1.CoordinatorService")
	require.Contains(t, names, "grpc.health.v1.Health")
}

func TestRunReportsABrokenListener(t *testing.T) {
	listener := bufconn.Listen(1)
	require.NoError(t, listener.Close())
	require.ErrorContains(t, NewServer(NewBoard(), nil).Run(t.Context(), listener), "serve gRPC")
}
