package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/rollcall-dev/rollcall/engines/opensearch"
	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/searchcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	oldSecured = "2.19.4"
	newSecured = "3.4.0"
	// agentSecret and caSecret are the Secrets that enroll is told of.
	agentSecret = "os-agent"
	caSecret    = "os-ca"
	agentUser   = "rollcall"
	agentWord   = "Quorum-7-Lantern-Orchid"
)

// secured is an OpenSearch with the security plugin, put under Rollcall as a person does who
// follows what enroll says.
type secured struct {
	*search
	security *searchcluster.Security
}

// TestOpenSearchSecured walks one through everything: the order matters, a later step starts from
// what an earlier one left.
func TestOpenSearchSecured(t *testing.T) {
	measured(t)
	b := bed(t, "opensearch-secured")
	leaveNothing(t, b)
	require.NoError(t, b.Apply(t.Context(), "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	cluster, security := searchcluster.DeploySecured(t, b, func(set *appsv1.StatefulSet) {
		fewer(set, searchcluster.Data, 3)
	})
	require.NoError(t, cluster.CreateIndices(t.Context()))
	require.NoError(t, cluster.MakeUser(t.Context(), agentUser, agentWord, opensearch.SmallestRole()))
	settings, err := cluster.Settings(t.Context())
	require.NoError(t, err)
	s := &secured{&search{b, cluster, settings}, security}
	walk(t, []step{
		{"EnrollNamesWhatItNeeds", s.refused},
		{"WrongPassword", s.wrongPassword},
		{"UpgradeWhileCertificatesChange", s.upgraded},
	}, []step{
		{"MissingPermission", s.missingPermission},
		{"CertificateExpired", s.expired},
	})
	require.NoError(t, s.cluster.Delete(t.Context()), "a namespace with Rollcall in it can be deleted")
}

// refused: enroll without a word of the security changes nothing, and says what to make.
func (s *secured) refused(t *testing.T) {
	before := s.uids()
	out, err := s.enroll(t)
	require.Error(t, err)
	for _, word := range []string{"--tls", "--ca-secret", "--credentials-secret", "cluster:monitor/state"} {
		require.Contains(t, out+err.Error(), word)
	}
	_, err = s.bed.Kubectl(t.Context(), "", "get", "dbc", searchcluster.Name, "-n", searchcluster.Namespace)
	require.ErrorContains(t, err, "not found")
	require.Equal(t, before, s.uids())
}

// enroll runs enroll for all pools.
func (s *secured) enroll(t *testing.T, more ...string) (string, error) {
	t.Helper()
	args := append(append([]string{"enroll"}, searchcluster.Pools...), "--name", searchcluster.Name, "-n", searchcluster.Namespace)
	out, err := s.bed.Rollcall(t.Context(), append(args, more...)...)
	t.Log(out, err)
	return out, err
}

// wrongPassword: enroll refuses a password that is wrong. If it becomes wrong later, one pod at most
// restarts, and what to do is said wherever a person looks. With the right one all pods get agents.
func (s *secured) wrongPassword(t *testing.T) {
	ctx := t.Context()
	s.credentials(t, "not-the-password")
	require.NoError(t, s.security.Secret(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: caSecret, Namespace: searchcluster.Namespace, Labels: map[string]string{manifests.ClusterLabel: searchcluster.Name}},
		StringData: map[string]string{"ca.crt": s.security.Authority.CA},
	}))
	flags := []string{"--tls", "--ca-secret", caSecret, "--credentials-secret", agentSecret}
	_, err := s.enroll(t, flags...)
	require.ErrorContains(t, err, "refuses the username and password of Secret "+searchcluster.Namespace+"/"+agentSecret)
	s.credentials(t, agentWord)
	_, err = s.enroll(t, flags...)
	require.NoError(t, err)
	s.credentials(t, "not-the-password")
	out := roll(t, rehearsal.Rehearsal{
		On: s.cluster,
		Change: func(ctx context.Context) error {
			for _, pool := range searchcluster.Pools {
				if err := s.cluster.Patch(ctx, pool, fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%q}}}}}`, manifests.ClusterLabel, searchcluster.Name)); err != nil {
					return err
				}
			}
			_, err := s.bed.Rollcall(ctx, "approve", searchcluster.Name, "-n", searchcluster.Namespace, "--what", "adopt", "--any-revision")
			return err
		},
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := s.said(ctx, t, "the user or the password in Secret "+agentSecret+" is wrong", "401"); err != nil {
				return err
			}
			// Long enough for somebody who would go to go.
			if err := testbed.Pause(ctx, 20*time.Second); err != nil {
				return err
			}
			if n := len(w.Report().Restarts); n > 1 {
				return fmt.Errorf("%d pods restarted with a wrong password", n)
			}
			s.credentials(t, agentWord)
			return nil
		},
		Done: s.adopted,
	})
	s.careful(t, out)
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1, "pods unavailable at once")
	require.NoError(t, s.status(t))
}

// adopted waits until each pod has an agent and every copy serves.
func (s *secured) adopted(ctx context.Context) error {
	if err := s.cluster.RolledOut(ctx, rolloutLimit); err != nil {
		return err
	}
	for _, pod := range s.cluster.Pods.All() {
		if !testbed.HasAgent(pod) {
			return fmt.Errorf("%s came back without an agent", pod.Name)
		}
	}
	return nil
}

// said waits until status, explain and an Event say all of the words.
func (s *secured) said(ctx context.Context, t *testing.T, words ...string) error {
	places := map[string]func() (string, error){
		"status": func() (string, error) {
			return s.bed.Rollcall(ctx, "status", searchcluster.Name, "-n", searchcluster.Namespace)
		},
		"explain": func() (string, error) {
			var all strings.Builder
			for _, pod := range s.cluster.Pods.All() {
				out, err := s.bed.Rollcall(ctx, "explain", pod.Name, "-n", searchcluster.Namespace)
				if err != nil {
					return "", err
				}
				all.WriteString(out)
				if err := testbed.Pause(ctx, time.Second); err != nil { // one person may ask 5 times a second
					return "", err
				}
			}
			return all.String(), nil
		},
		"Events": func() (string, error) {
			return s.bed.Kubectl(ctx, "", "get", "events", "-n", searchcluster.Namespace, "-o", `jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}`)
		},
	}
	for place, read := range places {
		err := s.bed.Eventually(ctx, place+" to say "+strings.Join(words, ", "), 3*time.Minute, func(context.Context) error {
			out, err := read()
			if err != nil {
				return err
			}
			text := strings.Join(strings.Fields(out), " ") // lines are wrapped
			for _, word := range words {
				if !strings.Contains(text, word) {
					return fmt.Errorf("no %q:\n%s", word, out)
				}
			}
			at := strings.Index(text, words[0])
			t.Logf("%s: ...%s...", place, text[max(0, at-200):min(len(text), at+200)])
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// credentials makes the Secret of the agents, or changes it.
func (s *secured) credentials(t *testing.T, password string) {
	t.Helper()
	require.NoError(t, s.security.Secret(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: agentSecret, Namespace: searchcluster.Namespace, Labels: map[string]string{manifests.ClusterLabel: searchcluster.Name}},
		StringData: map[string]string{"username": agentUser, "password": password},
	}))
}

// upgraded: to the next major version, while all nodes get other certificates.
func (s *secured) upgraded(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cluster,
		Change: func(ctx context.Context) error { return s.cluster.SetImage(ctx, newSecured) },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := restarted(ctx, s.bed, w, 1); err != nil {
				return err
			}
			return s.security.Certify(ctx, authority.Leaf{})
		},
	})
	s.careful(t, out)
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1, "pods unavailable at once")
	require.Len(t, out.Witness.RestartCounts(), len(s.cluster.Pods.All()), "every pod restarts")
	require.Empty(t, out.Witness.Again(), "once")
	require.NoError(t, out.Witness.InOrder(searchcluster.Kind))
	s.leftAsBefore(t)
	require.NoError(t, s.status(t))
}

// missingPermission: a role that lacks something holds the rollout back and is named; given back, all goes on.
func (s *secured) missingPermission(t *testing.T) {
	less := opensearch.SmallestRole()
	less.Cluster = less.Cluster[1:]
	s.held(t, "permission", []string{"403", opensearch.SmallestRole().Cluster[0]},
		func(ctx context.Context) error { return s.cluster.SetRole(ctx, agentUser, less) },
		func(ctx context.Context) error {
			return s.cluster.SetRole(ctx, agentUser, opensearch.SmallestRole())
		})
}

// expired: OpenSearch does not start with a certificate that has expired, and those that run do not load
// it. So the first pod does not come back, and no other one goes until there is a certificate again.
func (s *secured) expired(t *testing.T) {
	s.held(t, "expired", []string{"starts and ends again and again"},
		func(ctx context.Context) error {
			return s.security.Certify(ctx, authority.Leaf{NotAfter: time.Now().Add(-time.Hour)})
		},
		func(ctx context.Context) error { return s.security.Certify(ctx, authority.Leaf{}) })
}

// held breaks what agents need before a rollout: no more than one pod goes until it is mended.
func (s *secured) held(t *testing.T, name string, words []string, damage, mend func(context.Context) error) {
	t.Helper()
	out := measure(t, rehearsal.Rehearsal{
		On: s.cluster,
		Change: func(ctx context.Context) error {
			if err := damage(ctx); err != nil {
				return err
			}
			return s.cluster.Touch(ctx, name)
		},
		During: func(ctx context.Context, w *witness.Witness) error {
			err := s.said(ctx, t, words...)
			if n := len(w.Report().Restarts); n > 1 {
				err = errors.Join(err, fmt.Errorf("%d pods restarted", n))
			}
			return errors.Join(err, mend(ctx))
		},
	})
	s.careful(t, out)
	require.NoError(t, s.status(t))
}

// uids are the identities of the pods.
func (s *secured) uids() map[string]string {
	uids := map[string]string{}
	for _, pod := range s.cluster.Pods.All() {
		uids[pod.Name] = string(pod.UID)
	}
	return uids
}
