package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
)

// deleteOutside: somebody deletes a pod by hand. Nobody prepared it, so the
// stop hook hands over.
func (s *solr) deleteOutside(t *testing.T) {
	defer s.unguarded(t)()
	measure(t, rehearsal.Rehearsal{On: s.cloud, Change: func(ctx context.Context) error {
		_, err := s.bed.Kubectl(ctx, "", "delete", "pod", "solr-2", "-n", solrcloud.Namespace)
		return err
	}})
}

// drainOutside: a node is drained by kubectl while nothing rolls.
func (s *solr) drainOutside(t *testing.T) {
	defer s.unguarded(t)()
	ctx := t.Context()
	node := s.cloud.Pods.All()[0].Spec.NodeName
	defer func() {
		_, err := s.bed.Kubectl(context.WithoutCancel(ctx), "", "uncordon", node)
		require.NoError(t, err)
	}()
	measure(t, rehearsal.Rehearsal{On: s.cloud, Change: func(ctx context.Context) error {
		_, err := s.bed.Kubectl(ctx, "", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=180s", "--pod-selector=app=solr")
		if err != nil {
			return err
		}
		_, err = s.bed.Kubectl(ctx, "", "uncordon", node)
		return err
	}})
}

// unguarded switches the guard off until the answer is called: with it both are refused.
func (s *solr) unguarded(t *testing.T) func() {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	set := func(value string) {
		_, err := s.bed.Kubectl(ctx, "", "patch", "dbc", "solr", "-n", solrcloud.Namespace, "--type=merge", "-p", `{"spec":{"guard":"`+value+`"}}`)
		require.NoError(t, err)
	}
	set("Off")
	require.NoError(t, s.bed.Eventually(ctx, "guards to be off", time.Minute, func(ctx context.Context) error {
		out, err := s.bed.Kubectl(ctx, "", "get", "pods,pdb", "-n", solrcloud.Namespace, "-l", "rollcall.dev/guard", "-o", "name")
		if err == nil && out != "" {
			return fmt.Errorf("guarded: %s", out)
		}
		return err
	}))
	return func() { set("Enforce") }
}
