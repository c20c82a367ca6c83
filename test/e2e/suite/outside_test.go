package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// deleteOutside: somebody deletes a pod by hand. It is not drained, so the stop hook hands over.
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
	return unguarded(t, s.bed, "solr", solrcloud.Namespace)
}

// unguarded takes the guards off a database, so that somebody else may remove its pods, and returns
// how they are put back.
func unguarded(t *testing.T, b *testbed.Bed, name, namespace string) func() {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	set := func(value string) {
		_, err := b.Kubectl(ctx, "", "patch", "dbc", name, "-n", namespace, "--type=merge", "-p", `{"spec":{"guard":"`+value+`"}}`)
		require.NoError(t, err)
	}
	set("Off")
	require.NoError(t, b.Eventually(ctx, "guards to be off", time.Minute, func(ctx context.Context) error {
		out, err := b.Kubectl(ctx, "", "get", "pods,pdb", "-n", namespace, "-l", "rollcall.dev/guard", "-o", "name")
		if err == nil && out != "" {
			return fmt.Errorf("guarded: %s", out)
		}
		return err
	}))
	return func() { set("Enforce") }
}
