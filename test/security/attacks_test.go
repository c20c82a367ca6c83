package security

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/agents"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Orders count from a coordinator of the own authority alone. All others change
// nothing, are counted by reason and logged, and the true one is obeyed after them.
func TestForeignCoordinatorsGiveNoOrders(t *testing.T) {
	v := three(t)
	name := config.ServerName(namespace, cluster)
	foreign := agenttest.NewAuthority(t).Client(name, config.RoleCoordinator) // of the same name
	foreign.InsecureSkipVerify = true                                         // the attacker does not care who answers
	server := v.authority.Client(name, "none")
	pair, err := tls.X509KeyPair(v.authority.Issue(name, ""))
	require.NoError(t, err)
	server.Certificates = []tls.Certificate{pair}
	old := v.authority.Client(name, config.RoleCoordinator)
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12

	leads := v.database.Leads(node(0))
	require.Positive(t, leads)
	for _, c := range []struct {
		name   string
		tls    *tls.Config
		code   codes.Code
		reason string
	}{
		{"coordinator of another authority", foreign, codes.Unavailable, "certificate"},
		{"a server's certificate", server, codes.Unavailable, "certificate"},
		{"no certificate", v.authority.Client(name, "none"), codes.Unavailable, "certificate"},
		{"TLS 1.2", old, codes.Unavailable, "certificate"},
		{"reader", v.authority.Client(name, config.RoleReader), codes.PermissionDenied, "role"},
		{"agent of this database", v.authority.Agent(name, name), codes.PermissionDenied, "role"},
		{"agent of another database", v.authority.Agent(name, config.ServerName(namespace, "other")), codes.PermissionDenied, "role"},
	} {
		series := `rollcall_agent_callers_refused_total{reason="` + c.reason + `"}`
		before := number(t, v.metric(0, series))
		request := v.order(0, math.MaxInt64, "forged")
		_, err := v.ask(0, c.tls).Drain(t.Context(), request)
		require.Equal(t, c.code, status.Code(err), "%s: %v", c.name, err)
		v.eventually(c.name+" is counted", func() bool { return number(t, v.metric(0, series)) > before })
		require.Contains(t, v.log.String(), "caller refused; further ones of the next minute are only counted\" reason="+c.reason)
	}
	require.Equal(t, leads, v.database.Leads(node(0)), "nothing was handed over")
	require.Empty(t, v.database.Marks())
	v.handedOver(0, 1)
}

func number(t *testing.T, text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return n
}

// Whoever has the gossip key says any epoch. An absurd one is not believed; with any
// other the worst is that orders are held, which is logged and counted, until the
// coordinator takes over once more and goes above it. agent/stolen_test.go has the rest.
func TestThiefOfTheGossipKeyHoldsNoOrdersForEver(t *testing.T) {
	v := three(t)
	v.handedOver(0, 5)
	tell := v.thief()
	for _, epoch := range []int64{config.MaxHeardEpoch + 1, math.MaxInt64} {
		tell(epoch)
		_, err := v.as(0, config.RoleCoordinator).PlanDrain(t.Context(), v.plan(0, 5, "true"))
		require.NoError(t, err, epoch)
	}
	tell(config.MaxHeardEpoch)
	_, err := v.as(0, config.RoleCoordinator).PlanDrain(t.Context(), v.plan(0, 5, "true"))
	refusedBy(t, err, "STALE_EPOCH")
	require.Contains(t, v.log.String(), "order refused")
	require.Equal(t, "1", v.metric(0, `rollcall_agent_orders_total{order="plan_drain",result="refused"}`))
	v.handedOver(1, config.MaxHeardEpoch+1)
}

// The neighbour has a true certificate of its own database. Whatever it says of
// itself, and from whichever address, nothing of it is kept in another pod's place.
func TestForgedReportsAreNotHeard(t *testing.T) {
	v := three(t)
	key := agents.Key{Namespace: namespace, Name: cluster}
	victimSays, err := v.as(0, config.RoleReader).GetReport(t.Context(), &rollcallv1.GetReportRequest{Fresh: true})
	require.NoError(t, err)

	for _, c := range []struct {
		name    string
		of      string // the database whose certificate the neighbour has
		as      func(*rollcallv1.Identity)
		problem string
	}{
		{"another database, as the victim", "other", func(*rollcallv1.Identity) {}, "certificate"},
		{"same database, as itself at the victim's address", cluster, func(i *rollcallv1.Identity) { i.Pod, i.PodUid = pod(1), uid(1) }, "another pod answered"},
		{"same database, the victim's name and its own UID", cluster, func(i *rollcallv1.Identity) { i.PodUid = uid(1) }, "another pod answered"},
		{"same pod, of the DatabaseCluster before", cluster, func(i *rollcallv1.Identity) { i.ClusterUid = "former" }, "another pod answered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := listen(t, host(3))
			forged := &forger{report: proto.CloneOf(victimSays)}
			c.as(forged.report.Identity)
			server := grpc.NewServer(grpc.Creds(credentials.NewTLS(serving(t, v.authority, config.ServerName(namespace, c.of)))))
			rollcallv1.RegisterAgentServiceServer(server, forged)
			go func() { _ = server.Serve(l) }()
			t.Cleanup(server.Stop)

			heard := follow(t, v, l)
			heard.Follow(key, agents.Following{ClusterUID: clusterUID, Reports: true,
				Agents: []agents.Target{{Pod: pod(0), UID: uid(0), IP: host(3)}}})
			v.eventually("the problem is named", func() bool {
				return strings.Contains(heard.State(key).Problems[uid(0)], c.problem)
			})
			require.Empty(t, heard.State(key).Reports, "nothing of it is kept, so the pod is held by no-report")
			_, err := heard.Fresh(t.Context(), key, uid(0))
			require.Error(t, err)
		})
	}
}

// A report that was recorded is as old as it says, or older. Played again, with its age
// or byte for byte, it does not pass for one of after the question.
func TestReplayedReportsAreOld(t *testing.T) {
	v := three(t)
	key := agents.Key{Namespace: namespace, Name: cluster}
	recorded, err := v.as(0, config.RoleReader).GetReport(t.Context(), &rollcallv1.GetReportRequest{Fresh: true})
	require.NoError(t, err)
	for name, age := range map[string]*durationpb.Duration{"with its age": durationpb.New(time.Hour), "byte for byte": recorded.Age} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, host(3))
			replay := &forger{report: proto.CloneOf(recorded)}
			replay.report.Age = age
			server := grpc.NewServer(grpc.Creds(credentials.NewTLS(serving(t, v.authority, config.ServerName(namespace, cluster)))))
			rollcallv1.RegisterAgentServiceServer(server, replay)
			go func() { _ = server.Serve(l) }()
			t.Cleanup(server.Stop)

			heard := follow(t, v, l)
			heard.Follow(key, agents.Following{ClusterUID: clusterUID, Reports: true, Agents: []agents.Target{{Pod: pod(0), UID: uid(0), IP: host(3)}}})
			v.eventually("it is heard", func() bool { return heard.State(key).Reports[uid(0)].Report != nil })
			first := heard.State(key).Reports[uid(0)].At
			if age.AsDuration() == time.Hour {
				require.True(t, first.Before(time.Now().Add(-time.Hour+time.Minute)), "it stays an hour old")
			}
			for range 3 {
				_, err = heard.Fresh(t.Context(), key, uid(0))
				require.ErrorIs(t, err, agents.ErrPlayedBack)
			}
			require.Equal(t, first, heard.State(key).Reports[uid(0)].At, "asking does not make it younger")
		})
	}
}

// Callers who say nothing take no place of those who ask.
func TestSilentCallersDoNotShutOutOthers(t *testing.T) {
	v := three(t)
	for range 200 {
		c, err := net.Dial("tcp", v.rpc[0])
		require.NoError(t, err)
		defer c.Close()
	}
	c, err := net.Dial("tcp", v.rpc[0])
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("GET / HTTP/1.1\r\n\r\n")) // no TLS
	require.NoError(t, err)
	v.handedOver(0, 1)
	v.eventually("it is counted", func() bool {
		return number(t, v.metric(0, `rollcall_agent_callers_refused_total{reason="certificate"}`)) > 0
	})
	require.GreaterOrEqual(t, number(t, v.metric(0, `rollcall_connections_refused_total{listener="grpc",reason="peer"}`)), 190.0)
}

func follow(t *testing.T, v *victim, l net.Listener) *agents.Agents {
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	at, err := strconv.Atoi(port)
	require.NoError(t, err)
	name := config.ServerName(namespace, cluster)
	a, err := agents.New(agents.Options{
		TLS:  func() (*tls.Config, error) { return v.authority.Client(name, config.RoleCoordinator), nil },
		Port: at, BackoffMax: time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = a.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return a
}

// forger says one thing, whoever asks and however fresh it should be.
type forger struct {
	rollcallv1.UnimplementedAgentServiceServer
	report *rollcallv1.Report
}

func (f *forger) GetReport(context.Context, *rollcallv1.GetReportRequest) (*rollcallv1.Report, error) {
	return f.report, nil
}

func (f *forger) WatchReport(_ *rollcallv1.WatchReportRequest, stream grpc.ServerStreamingServer[rollcallv1.Report]) error {
	if err := stream.Send(f.report); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// serving is the TLS of a server with the certificate of that name.
func serving(t *testing.T, authority *agenttest.Authority, name string) *tls.Config {
	pair, err := tls.X509KeyPair(authority.Issue(name, config.RoleAgent))
	require.NoError(t, err)
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}
}
