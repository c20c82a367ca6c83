package suite

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/pki"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	// spread is how long a changed Secret is given to be in every pod, as security.md says.
	spread = 2 * time.Minute
	// reportGap is the longest that the reports of a database may be old.
	reportGap = 15 * time.Second
)

// rotation: every secret that Rollcall uses is changed while one rollout after the
// other goes on. No request fails, and at no time are reports older than reportGap.
func (s *sqlTest) rotation(t *testing.T) {
	s.strategy(t, "null", sqlcluster.OnDelete)
	ctx := t.Context()
	before, err := s.secrets(ctx)
	require.NoError(t, err)
	var gaps gaps
	rollouts := 0
	var old *oldConnections
	session, err := s.cluster.Session()
	require.NoError(t, err)
	r := rehearsal.Rehearsal{
		Limit:  rolloutLimit,
		Change: func(ctx context.Context) error { return s.cluster.Touch(ctx, "rotation") },
		During: func(ctx context.Context, _ *witness.Witness) error {
			watching, stop := context.WithCancel(ctx)
			defer stop()
			watched := make(chan struct{})
			go func() {
				defer close(watched)
				gaps.watch(watching, s.bed)
			}()
			var err error
			if old, err = s.oldConnections(ctx); err != nil {
				return err
			}
			used := make(chan struct{})
			go func() {
				defer close(used)
				old.use(watching, s)
			}()
			rotated := make(chan error, 1)
			go func() { rotated <- s.rotate(ctx) }()
			for {
				if err := s.cluster.RolledOut(ctx, rolloutLimit); err != nil {
					return err
				}
				rollouts++
				select {
				case err := <-rotated:
					stop()
					<-watched
					<-used
					return err
				default:
				}
				if err := s.cluster.Touch(ctx, "rotation-"+strconv.Itoa(rollouts)); err != nil {
					return err
				}
			}
		},
	}
	out, err := session.Run(ctx, r)
	t.Logf("%d rollouts: %s; %s", rollouts, out, &gaps)
	if err != nil || out.Load.Failed > 0 {
		s.describe(t)
	}
	require.NoError(t, err)
	require.NoError(t, out.Judge(rollouts))
	require.Zero(t, out.Load.Failed, "failed requests")
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1, "pods unavailable at once")
	require.Greater(t, gaps.looks, 100, "nobody looked at the reports")
	require.LessOrEqual(t, gaps.longest, reportGap, "reports were that old")
	old.judge(t)
	require.NoError(t, s.webhookAnswers(ctx))

	after, err := s.secrets(ctx)
	require.NoError(t, err)
	for key, value := range before {
		require.NotEqual(t, value, after[key], key)
	}
	require.NoError(t, s.cluster.RolledOut(ctx, rolloutLimit))
	_, err = s.bed.Rollcall(ctx, "status", s.flavor.Name, "-n", sqlcluster.Namespace, "--wait", "--timeout", "2m")
	require.NoError(t, err)
}

// rotate changes both authorities, gossip key and the passwords, in the way that security.md says.
func (s *sqlTest) rotate(ctx context.Context) error {
	ended := make(chan error, 4)
	go func() {
		err := s.rotateAuthority(ctx, pki.SecretAuthority)
		if err == nil { // until the kubelet has told each agent
			err = testbed.Pause(ctx, spread)
		}
		ended <- err
	}()
	go func() { ended <- s.rotateAuthority(ctx, pki.SecretWebhook) }()
	go func() { ended <- s.rotateGossipKey(ctx) }()
	go func() { ended <- s.rotatePasswords(ctx) }()
	return errors.Join(<-ended, <-ended, <-ended, <-ended)
}

func (s *sqlTest) rotateAuthority(ctx context.Context, name string) error {
	asked := time.Now().UTC().Format(time.RFC3339)
	if _, err := s.bed.Kubectl(ctx, "", "annotate", "secret", name, "-n", testbed.InstallNamespace, "--overwrite", pki.AnnotationRotate+"="+asked); err != nil {
		return err
	}
	last := ""
	return s.bed.Eventually(ctx, "the rotation of "+name, 4*pki.RotateOverlap, func(ctx context.Context) error {
		secret, err := s.bed.Kube.CoreV1().Secrets(testbed.InstallNamespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		said := secret.Annotations[pki.AnnotationRotation]
		if said != last {
			s.bed.Logf("%s: %s", name, said)
			last = said
		}
		if secret.Annotations[pki.AnnotationRotated] != asked || said != "done" {
			return fmt.Errorf("rotation: %q", said)
		}
		return nil
	})
}

func (s *sqlTest) rotateGossipKey(ctx context.Context) error {
	name := s.flavor.Name + "-rollcall"
	secret, err := s.bed.Kube.CoreV1().Secrets(sqlcluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	former, next := secret.Data["gossip.key"], make([]byte, 32)
	_, _ = rand.Read(next)
	for i, key := range [][]byte{slices.Concat(former, next), slices.Concat(next, former), next} {
		if i > 0 {
			if err := testbed.Pause(ctx, spread); err != nil {
				return err
			}
		}
		s.bed.Logf("gossip key: step %d of 3", i+1)
		if err := s.patchSecret(ctx, name, map[string][]byte{"gossip.key": key}); err != nil {
			return err
		}
	}
	return nil
}

// rotatePasswords has old and new be right at once, as long as anybody may have the old one.
func (s *sqlTest) rotatePasswords(ctx context.Context) error {
	name := s.flavor.Name + "-rollcall-credentials"
	secret, err := s.bed.Kube.CoreV1().Secrets(sqlcluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	accounts := []struct{ account, key string }{{"'rollcall'@'127.0.0.1'", "password"}, {"'replica'@'%'", "replication-password"}}
	data := map[string][]byte{}
	for _, a := range accounts {
		data[a.key] = []byte(rand.Text())
		if err := s.onPrimary(ctx, s.both(a.account, string(secret.Data[a.key]), string(data[a.key]))); err != nil {
			return err
		}
	}
	s.bed.Logf("passwords: old and new are right")
	if err := s.patchSecret(ctx, name, data); err != nil {
		return err
	}
	if err := testbed.Pause(ctx, spread); err != nil {
		return err
	}
	// Replicas go on with the password that they were given with their source, until they get another.
	if err := s.onPrimary(ctx, s.only(accounts[0].account, string(data[accounts[0].key]))); err != nil {
		return err
	}
	s.bed.Logf("passwords: the old one of the agents is wrong now")
	return nil
}

// both is the statement after which an account has two passwords.
func (s *sqlTest) both(account, former, next string) string {
	if s.flavor == sqlcluster.MariaDB {
		return fmt.Sprintf("ALTER USER %s IDENTIFIED VIA mysql_native_password USING PASSWORD('%s') OR mysql_native_password USING PASSWORD('%s')", account, next, former)
	}
	return fmt.Sprintf("ALTER USER %s IDENTIFIED BY '%s' RETAIN CURRENT PASSWORD", account, next)
}

// only is the statement after which the former password is wrong.
func (s *sqlTest) only(account, next string) string {
	if s.flavor == sqlcluster.MariaDB {
		return fmt.Sprintf("ALTER USER %s IDENTIFIED VIA mysql_native_password USING PASSWORD('%s')", account, next)
	}
	return fmt.Sprintf("ALTER USER %s DISCARD OLD PASSWORD", account)
}

// onPrimary writes where one can write; a rollout moves that.
func (s *sqlTest) onPrimary(ctx context.Context, statement string) error {
	return s.bed.Eventually(ctx, "a primary to write to", time.Minute, func(ctx context.Context) error {
		primary, err := s.cluster.Primary(ctx)
		if err != nil {
			return err
		}
		return s.cluster.Exec(ctx, primary, statement)
	})
}

func (s *sqlTest) patchSecret(ctx context.Context, name string, data map[string][]byte) error {
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	_, err = s.bed.Kubectl(ctx, "", "patch", "secret", name, "-n", sqlcluster.Namespace, "--type=merge", "-p", string(patch))
	return err
}

// secrets is all that rotation changes.
func (s *sqlTest) secrets(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	for _, of := range []struct {
		namespace, name string
		keys            []string
	}{
		{testbed.InstallNamespace, pki.SecretAuthority, []string{"tls.crt", "tls.key", "ca.crt"}},
		{testbed.InstallNamespace, pki.SecretWebhook, []string{"tls.crt", "tls.key", "ca.crt"}},
		{testbed.InstallNamespace, pki.SecretReader, []string{"tls.crt", "tls.key", "ca.crt"}},
		{testbed.InstallNamespace, pki.SecretTrust, []string{"ca.crt"}},
		{sqlcluster.Namespace, s.flavor.Name + "-rollcall", []string{"tls.crt", "tls.key", "ca.crt", "gossip.key"}},
		{sqlcluster.Namespace, s.flavor.Name + "-rollcall-credentials", []string{"password", "replication-password"}},
	} {
		secret, err := s.bed.Kube.CoreV1().Secrets(of.namespace).Get(ctx, of.name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for _, key := range of.keys {
			if len(secret.Data[key]) == 0 {
				return nil, fmt.Errorf("secret %s/%s has no %s", of.namespace, of.name, key)
			}
			all[of.name+" "+key] = base64.StdEncoding.EncodeToString(secret.Data[key])
		}
	}
	return all, nil
}

// gaps watches how old the leader's reports are.
type gaps struct {
	looks   int // that found the leader following reports
	longest time.Duration
	at      time.Time
}

func (g *gaps) String() string {
	return fmt.Sprintf("reports were at most %s old (at %s), in %d looks", g.longest.Round(100*time.Millisecond), g.at.Format(time.TimeOnly), g.looks)
}

func (g *gaps) watch(ctx context.Context, b *testbed.Bed) {
	for ; ctx.Err() == nil; _ = testbed.Pause(ctx, time.Second) {
		leader, err := b.Leader(ctx)
		if err != nil {
			continue
		}
		lines, err := scrape(ctx, leader)
		if err != nil {
			continue
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "rollcall_report_age_seconds{") {
				continue
			}
			seconds, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				continue
			}
			g.looks++
			if age := time.Duration(seconds * float64(time.Second)); age > g.longest {
				g.longest, g.at = age, time.Now()
			}
		}
	}
}
