package suite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// attack is what somebody does to a running database, its agents and the
// coordinators, while a rollout goes on.
type attack struct{ *sqlTest }

// TestAttacks tries what security.md says of attackers against running processes.
// The worst that happens is a rollout that waits, and says so; no client notices.
func TestAttacks(t *testing.T) {
	b := bed(t, sqlcluster.MariaDB.Name)
	measured(t)
	leaveNothing(t, b)
	a := &attack{&sqlTest{bed: b, flavor: sqlcluster.MariaDB, life: t.Context()}}
	a.strategy(t, "null", sqlcluster.OnDelete)
	walk(t, []step{
		{"ForeignCertificates", a.foreignCertificates},
		{"ForgedByANeighbour", a.neighbour},
		{"StolenGossipKey", a.stolenKey},
	}, nil)
	require.NoError(t, a.cluster.Delete(t.Context()))
}

// secret returns the secret of the agents, as one has it who may read Secrets of the namespace.
func (a *attack) secret(t *testing.T) map[string][]byte {
	t.Helper()
	secret, err := a.bed.Kube.CoreV1().Secrets(sqlcluster.Namespace).Get(t.Context(), a.flavor.Name+"-rollcall", metav1.GetOptions{})
	require.NoError(t, err)
	return secret.Data
}

// foreignCertificates: orders with the certificate of a coordinator of another
// cluster, and with those of this one that may give none.
func (a *attack) foreignCertificates(t *testing.T) {
	other, err := pki.NewAuthority(pki.SecretAuthority, time.Now())
	require.NoError(t, err)
	foreign, err := other.Issue(pki.ClientProfile(config.RoleCoordinator), time.Now())
	require.NoError(t, err)
	own := a.secret(t)
	agents, err := tls.X509KeyPair(own[config.KeyCert], own[config.KeyKey])
	require.NoError(t, err)
	reader, err := a.bed.Kube.CoreV1().Secrets("rollcall-system").Get(t.Context(), pki.SecretReader, metav1.GetOptions{})
	require.NoError(t, err)
	readers, err := tls.X509KeyPair(reader.Data[config.KeyCert], reader.Data[config.KeyKey])
	require.NoError(t, err)
	ours := x509.NewCertPool()
	require.True(t, ours.AppendCertsFromPEM(own[config.KeyCA]))

	uid, err := a.bed.Kubectl(t.Context(), "", "get", "dbc", a.flavor.Name, "-n", sqlcluster.Namespace, "-o", "jsonpath={.metadata.uid}")
	require.NoError(t, err)
	order := func(pod *corev1.Pod, certificates ...tls.Certificate) error {
		conn, err := grpc.NewClient(fmt.Sprintf("%s:%d", pod.Status.PodIP, config.PortGRPC), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS13, RootCAs: ours, ServerName: config.ServerName(sqlcluster.Namespace, a.flavor.Name), Certificates: certificates,
		})))
		require.NoError(t, err)
		defer conn.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = rollcallv1.NewAgentServiceClient(conn).Drain(ctx, &rollcallv1.DrainRequest{
			Claim: "attack", PodUid: string(pod.UID), Kind: rollcallv1.DrainKind_DRAIN_KIND_HANDOFF,
			Fence: &rollcallv1.Fence{ClusterUid: uid, Epoch: math.MaxInt64},
		})
		return err
	}
	out := a.roll(t, "Rollcall, while foreign coordinators give orders", 1, rehearsal.Rehearsal{
		Change: func(ctx context.Context) error { return a.cluster.Touch(ctx, "foreign-certificates") },
		During: func(context.Context, *witness.Witness) error {
			for _, pod := range a.cluster.Pods.All() {
				for who, want := range map[string]struct {
					certificates []tls.Certificate
					code         codes.Code
				}{
					"a coordinator of another cluster": {[]tls.Certificate{foreign.TLS()}, codes.Unavailable},
					"nobody":                           {nil, codes.Unavailable},
					"an agent":                         {[]tls.Certificate{agents}, codes.PermissionDenied},
					"a reader":                         {[]tls.Certificate{readers}, codes.PermissionDenied},
				} {
					err := order(pod, want.certificates...)
					if code := grpcstatus.Code(err); err == nil || code != want.code && code != codes.Unavailable {
						return fmt.Errorf("%s orders %s: %w (%s), want %s", who, pod.Name, err, code, want.code)
					}
				}
			}
			return nil
		},
	})
	a.eachOnce(t, out)

	pod := a.cluster.Pods.All()[0]
	require.Equal(t, codes.Unavailable, grpcstatus.Code(order(pod, foreign.TLS())))
	require.Equal(t, codes.PermissionDenied, grpcstatus.Code(order(pod, agents)))
	lines, err := read(t.Context(), "http://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(config.PortHTTP))+"/metrics")
	require.NoError(t, err)
	for _, reason := range []string{"certificate", "role"} {
		line := `rollcall_agent_callers_refused_total{reason="` + reason + `"} `
		require.Contains(t, lines, line)
		require.NotContains(t, lines, line+"0\n", "it is counted")
	}
	log, err := a.bed.Kubectl(t.Context(), "", "logs", pod.Name, "-n", sqlcluster.Namespace, "-c", "rollcall-agent")
	require.NoError(t, err)
	require.Contains(t, log, "caller refused")
}

// neighbour: another pod with the agents' Secret and a real agent that says of
// itself that it is one of the database's pods, at its own address.
func (a *attack) neighbour(t *testing.T) {
	ctx := t.Context()
	victim := a.cluster.Pods.All()[1]
	var agent *corev1.Container
	for i := range victim.Spec.InitContainers {
		if victim.Spec.InitContainers[i].Name == "rollcall-agent" {
			agent = victim.Spec.InitContainers[i].DeepCopy()
		}
	}
	require.NotNil(t, agent, "an agent in %s", victim.Name)
	for i := range agent.Env {
		set := func(value string) { agent.Env[i].Value, agent.Env[i].ValueFrom = value, nil }
		switch agent.Env[i].Name {
		case config.EnvPod:
			set(victim.Name)
		case config.EnvPodUID:
			set(string(victim.UID))
		case config.EnvCluster:
			set(a.flavor.Name)
		}
	}
	agent.RestartPolicy, agent.StartupProbe, agent.Lifecycle = nil, nil, nil
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "neighbour", Namespace: sqlcluster.Namespace}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{*agent},
	}}
	for _, v := range victim.Spec.Volumes {
		for _, m := range agent.VolumeMounts {
			if m.Name == v.Name {
				pod.Spec.Volumes = append(pod.Spec.Volumes, v)
			}
		}
	}
	_, err := a.bed.Kube.CoreV1().Pods(sqlcluster.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(t, err)
	defer func() {
		_, err := a.bed.Kubectl(context.WithoutCancel(ctx), "", "delete", "pod", "neighbour", "-n", sqlcluster.Namespace, "--grace-period=0", "--force", "--ignore-not-found")
		require.NoError(t, err)
	}()
	_, err = a.bed.Kubectl(ctx, "", "wait", "pod/neighbour", "-n", sqlcluster.Namespace, "--for=jsonpath={.status.phase}=Running", "--timeout=60s")
	require.NoError(t, err)
	a.rolledOrHeld(t, "forged-by-a-neighbour", func(ctx context.Context) error {
		_, err := a.bed.Kubectl(ctx, "", "delete", "pod", "neighbour", "-n", sqlcluster.Namespace, "--grace-period=0", "--force")
		return err
	})
}

// stolenKey: somebody with the gossip key joins, speaks in the name of a pod, says
// that all are red and leaving, and that epochs are used up.
func (a *attack) stolenKey(t *testing.T) {
	ctx := t.Context()
	pods := a.cluster.Pods.All()
	uid, err := a.bed.Kubectl(ctx, "", "get", "dbc", a.flavor.Name, "-n", sqlcluster.Namespace, "-o", "jsonpath={.metadata.uid}")
	require.NoError(t, err)
	own, err := reachableFrom(pods[0].Status.PodIP)
	require.NoError(t, err)
	running, stop := context.WithCancel(ctx)
	var ended []chan error
	defer func() {
		stop()
		for _, e := range ended {
			<-e
		}
	}()
	for i, as := range []struct {
		pod, uid string
		epoch    int64
	}{{pods[1].Name, string(pods[1].UID), math.MaxInt64}, {pods[2].Name, "another", config.MaxHeardEpoch}, {"mariadb-7", "nobody", 7}} {
		mesh, err := gossip.New(gossip.Options{
			Namespace: sqlcluster.Namespace, Cluster: a.flavor.Name, ClusterUID: uid, Pod: as.pod, PodUID: as.uid,
			Address: netip.AddrPortFrom(own, uint16(17946+i)), Keys: [][]byte{a.secret(t)[config.KeyGossip][:32]},
			Peers: func(context.Context) ([]netip.AddrPort, error) {
				var list []netip.AddrPort
				for _, pod := range a.cluster.Pods.All() {
					if ip, err := netip.ParseAddr(pod.Status.PodIP); err == nil {
						list = append(list, netip.AddrPortFrom(ip, config.PortGossip))
					}
				}
				return list, nil
			},
		})
		require.NoError(t, err)
		require.NoError(t, mesh.Publish(&rollcallv1.Headline{
			Pod: as.pod, PodUid: as.uid, Incarnation: math.MaxInt32, Sequence: math.MaxInt32, Epoch: as.epoch,
			Member: rollcallv1.Membership_MEMBERSHIP_NOT_LIVE,
		}))
		end := make(chan error, 1)
		ended = append(ended, end)
		go func() { end <- mesh.Run(running) }()
	}
	a.rolledOrHeld(t, "stolen-gossip-key", func(context.Context) error {
		stop()
		return nil
	})
}

// rolledOrHeld rolls during an attack. Either it does no harm, or the rollout waits
// for a named reason and ends once the attack does.
func (a *attack) rolledOrHeld(t *testing.T, name string, end func(ctx context.Context) error) {
	t.Helper()
	said := ""
	out := a.roll(t, "Rollcall, "+name, 1, rehearsal.Rehearsal{
		Change: func(ctx context.Context) error { return a.cluster.Touch(ctx, name) },
		During: func(ctx context.Context, _ *witness.Witness) error {
			if err := a.cluster.RolledOut(ctx, 90*time.Second); err == nil {
				said = "the rollout ended in spite of it"
				return nil
			}
			plan, err := a.plan(ctx)
			if err != nil {
				return err
			}
			said = plan
			if !strings.Contains(plan, "hold") {
				return errors.New("it waits, and names no reason: " + plan)
			}
			// What was made up is forgotten after 15 minutes, within the limit of Done.
			return end(ctx)
		},
	})
	t.Logf("%s: %s", name, said)
	a.eachOnce(t, out)
}

// reachableFrom is the address of this machine by which a pod answers.
func reachableFrom(ip string) (netip.Addr, error) {
	conn, err := net.Dial("udp", net.JoinHostPort(ip, "9"))
	if err != nil {
		return netip.Addr{}, err
	}
	defer conn.Close()
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	return local.Addr(), err
}
