package suite

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	// mortal gives Solr a liveness probe that fails when a file is there; it goes
	// with the container.
	mortal = `{"spec":{"template":{"spec":{"containers":[{"name":"solr","livenessProbe":{
		"exec":{"command":["/bin/sh","-c","test ! -e /tmp/unwell"]},"periodSeconds":2,"timeoutSeconds":20,"failureThreshold":1}}]}}}}`

	chartsSolrBudget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: charts, namespace: demo}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: solr}}}
`
)

// livenessKills: the kubelet kills Solr's container, and runs the stop hook first: in a pod that is
// not drained the hook hands over, in one that is drained under a claim it has nothing to do.
// Neither costs a request.
func (s *solr) livenessKills(t *testing.T) {
	s.wellBehaved(t, roll(t, rehearsal.Rehearsal{On: s.cloud, Change: func(ctx context.Context) error { return s.cloud.Patch(ctx, mortal) }}))

	out := roll(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(context.Context) error { return nil },
		During: func(ctx context.Context, w *witness.Witness) error { return s.unwell(ctx, w, "solr-3") },
		Done:   func(ctx context.Context) error { return s.cloud.AllActive(ctx, 4*time.Minute) },
	})
	require.Empty(t, out.Witness.Restarts, "the pod stays")

	prepared := ""
	out = roll(t, rehearsal.Rehearsal{
		On: s.cloud,
		Change: func(ctx context.Context) error {
			// A chart's own budget keeps the first pod from going once it is drained.
			if err := s.bed.Apply(ctx, chartsSolrBudget); err != nil {
				return err
			}
			return s.cloud.Touch(ctx, "liveness")
		},
		During: func(ctx context.Context, w *witness.Witness) error {
			err := s.bed.Eventually(ctx, "a drained pod", 3*time.Minute, func(ctx context.Context) error {
				out, err := s.bed.Kubectl(ctx, "", "get", "dbc", "solr", "-n", solrcloud.Namespace, "-o", "jsonpath={.status.claims[*].pod}")
				pod := strings.TrimSpace(out)
				if err != nil || pod == "" {
					return errors.Join(err, errors.New("nobody is claimed"))
				}
				// Its agent says so; the phase in the status is written with other things.
				text, err := s.bed.Rollcall(ctx, "explain", pod, "-n", solrcloud.Namespace)
				if !regexp.MustCompile(`(?m)^ *drain +\S+ +Drained`).MatchString(text) {
					return errors.Join(err, fmt.Errorf("%s is not drained", pod))
				}
				prepared = pod
				return err
			})
			if err == nil {
				err = s.unwell(ctx, w, prepared)
			}
			_, gone := s.bed.Kubectl(context.WithoutCancel(ctx), "", "delete", "pdb", "charts", "-n", solrcloud.Namespace)
			return errors.Join(err, gone)
		},
	})
	t.Log("killed while it was prepared:", prepared)
	for pod, n := range out.Witness.RestartCounts() {
		require.Equal(t, 1, n, "restarts of %s", pod)
	}
}

// unwell makes a pod's liveness probe fail until the kubelet has restarted the
// container, and waits for Solr in it.
func (s *solr) unwell(ctx context.Context, w *witness.Witness, name string) error {
	before, err := s.container(ctx, w, name)
	if err != nil {
		return err
	}
	if _, err := s.bed.Kubectl(ctx, "", "exec", name, "-n", solrcloud.Namespace, "-c", solrcloud.Container, "--", "/bin/sh", "-c", ": > /tmp/unwell"); err != nil {
		return err
	}
	return s.bed.Eventually(ctx, name+" to be restarted by its kubelet", 4*time.Minute, func(ctx context.Context) error {
		now, err := s.container(ctx, w, name)
		if err != nil {
			return err
		}
		if now.RestartCount <= before.RestartCount || !now.Ready {
			return fmt.Errorf("%d restarts, ready: %t", now.RestartCount, now.Ready)
		}
		s.bed.Logf("the kubelet has restarted %s", name)
		return nil
	})
}

func (s *solr) container(ctx context.Context, w *witness.Witness, name string) (corev1.ContainerStatus, error) {
	pod, err := s.bed.Kube.CoreV1().Pods(solrcloud.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return corev1.ContainerStatus{}, err
	}
	w.Hurt(string(pod.UID))
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == solrcloud.Container {
			return c, nil
		}
	}
	return corev1.ContainerStatus{}, fmt.Errorf("%s has no container yet", name)
}
