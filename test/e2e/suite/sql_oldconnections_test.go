package suite

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// oldConnections are of before the authority rotates: of a person with the reader's
// certificate, and of a thief of the authority's key with a coordinator's, to both
// coordinators and to all agents.
type oldConnections struct {
	all     []*oldConnection
	dropped time.Time // when the former authority was trusted no more
}

type oldConnection struct {
	what   string
	agent  bool
	ask    func(context.Context) error
	closer func() error

	mu      sync.Mutex
	answers int
	last    time.Time // when a call began that was answered
	refusal error     // the last
}

func (s *sqlTest) oldConnections(ctx context.Context) (*oldConnections, error) {
	secrets := s.bed.Kube.CoreV1().Secrets(testbed.InstallNamespace)
	reader, err := secrets.Get(ctx, pki.SecretReader, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	stored, err := secrets.Get(ctx, pki.SecretAuthority, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	authority, err1 := pki.DecodeAuthority(stored.Data)
	person, err2 := pki.ParsePair(reader.Data[config.KeyCert], reader.Data[config.KeyKey])
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	thief, err := authority.Issue(pki.ClientProfile(config.RoleCoordinator), time.Now())
	if err != nil {
		return nil, err
	}
	pods, err := s.bed.Kube.CoreV1().Pods(testbed.InstallNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=coordinator"})
	if err != nil {
		return nil, err
	}
	old := &oldConnections{}
	for who, pair := range map[string]pki.Pair{"reader": person, "thief": thief} {
		conf := func(name string) *tls.Config {
			return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: authority.Pool(), ServerName: name, Certificates: []tls.Certificate{pair.TLS()}}
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			conn, err := dialOnce(net.JoinHostPort(pod.Status.PodIP, "7950"), conf(pki.CoordinatorName))
			if err != nil {
				return nil, err
			}
			client := healthv1.NewHealthClient(conn)
			old.all = append(old.all, &oldConnection{what: who + " to " + pod.Name, closer: conn.Close, ask: func(ctx context.Context) error {
				_, err := client.Check(ctx, &healthv1.HealthCheckRequest{})
				return err
			}})
		}
		// The pods of the database restart meanwhile: a connection to one is made again, with the same certificate.
		for _, pod := range s.cluster.Pods.All() {
			old.all = append(old.all, &oldConnection{what: who + " to the agent of " + pod.Name, agent: true, ask: s.askAgent(pod.Name, conf)})
		}
	}
	return old, nil
}

// askAgent asks over one connection for as long as the pod has the same address and that answers.
func (s *sqlTest) askAgent(pod string, conf func(string) *tls.Config) func(context.Context) error {
	var conn *grpc.ClientConn
	return func(ctx context.Context) error {
		var err error
		if conn == nil {
			present, err := s.bed.Kube.CoreV1().Pods(sqlcluster.Namespace).Get(ctx, pod, metav1.GetOptions{})
			if err != nil {
				return err
			}
			address := net.JoinHostPort(present.Status.PodIP, strconv.Itoa(config.PortGRPC))
			whoever := conf(config.ServerName(sqlcluster.Namespace, s.flavor.Name))
			whoever.InsecureSkipVerify = true // of the next authority it knows nothing
			if conn, err = dialOnce(address, whoever); err != nil {
				return err
			}
		}
		if _, err = rollcallv1.NewAgentServiceClient(conn).GetRoster(ctx, &rollcallv1.GetRosterRequest{}); err != nil {
			err = errors.Join(err, conn.Close())
			conn = nil
		}
		return err
	}
}

// dialOnce makes one connection, and no other when that has ended.
func dialOnce(address string, conf *tls.Config) (*grpc.ClientConn, error) {
	var dialled atomic.Bool
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(conf)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if dialled.Swap(true) {
				return nil, errors.New("the connection has ended")
			}
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}))
}

// use calls over all of them until ctx ends.
func (o *oldConnections) use(ctx context.Context, s *sqlTest) {
	var running sync.WaitGroup
	for _, c := range o.all {
		running.Go(func() { c.use(ctx) })
	}
	running.Go(func() { o.watch(ctx, s) })
	running.Wait()
}

func (c *oldConnection) use(ctx context.Context) {
	for ; ctx.Err() == nil; _ = testbed.Pause(ctx, 100*time.Millisecond) {
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		began := time.Now()
		err := c.ask(call)
		cancel()
		if ctx.Err() != nil {
			break
		}
		c.mu.Lock()
		if c.refusal = err; err == nil {
			c.answers++
			c.last = began
		}
		c.mu.Unlock()
	}
	if c.closer != nil {
		_ = c.closer()
	}
}

// watch notes when the rotation was done.
func (o *oldConnections) watch(ctx context.Context, s *sqlTest) {
	for ; ctx.Err() == nil && o.dropped.IsZero(); _ = testbed.Pause(ctx, 50*time.Millisecond) {
		secret, err := s.bed.Kube.CoreV1().Secrets(testbed.InstallNamespace).Get(ctx, pki.SecretAuthority, metav1.GetOptions{})
		if err == nil && secret.Annotations[pki.AnnotationRotation] == "done" && secret.Annotations[pki.AnnotationRotate] == secret.Annotations[pki.AnnotationRotated] {
			o.dropped = time.Now()
		}
	}
}

// judge: coordinators refuse within a second, and agents within one of when the kubelet has
// brought them their files.
func (o *oldConnections) judge(t *testing.T) {
	t.Helper()
	require.False(t, o.dropped.IsZero(), "the rotation is not done")
	for _, c := range o.all {
		c.mu.Lock()
		late, limit := c.last.Sub(o.dropped), time.Second
		if c.agent {
			limit += spread
		}
		t.Logf("%-50s %6d answers, the last %8s after the former authority was dropped: %v", c.what, c.answers, late.Round(time.Millisecond), c.refusal)
		require.Positive(t, c.answers, c.what)
		require.Less(t, late, limit, c.what)
		require.Error(t, c.refusal, "%s is answered still", c.what)
		early := 5 * time.Second
		if c.agent { // whose pod may be unavailable
			early = time.Minute
		}
		require.Greater(t, late, -early, "%s was refused while both authorities were trusted", c.what)
		c.mu.Unlock()
	}
}

// webhookAnswers: the API server trusts the webhook's own authority and no other, and pods get their agents.
func (s *sqlTest) webhookAnswers(ctx context.Context) error {
	conf, err := s.bed.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, "rollcall-coordinator", metav1.GetOptions{})
	if err != nil {
		return err
	}
	secret, err := s.bed.Kube.CoreV1().Secrets(testbed.InstallNamespace).Get(ctx, pki.SecretWebhook, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if string(conf.Webhooks[0].ClientConfig.CABundle) != string(secret.Data[config.KeyCA]) {
		return fmt.Errorf("the caBundle is not that of %s", pki.SecretWebhook)
	}
	pods, err := s.bed.Kube.CoreV1().Pods(sqlcluster.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "rollcall.dev/cluster=" + s.flavor.Name})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if !hasAgent(&pods.Items[i]) {
			return fmt.Errorf("pod %s has no agent", pods.Items[i].Name)
		}
	}
	return nil
}

func hasAgent(pod *corev1.Pod) bool {
	for _, c := range pod.Spec.InitContainers {
		if c.Name == "rollcall-agent" {
			return true
		}
	}
	return false
}
