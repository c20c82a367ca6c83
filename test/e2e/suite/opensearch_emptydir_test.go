package suite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/searchcluster"
)

// emptyDir: what a pod holds goes with it, so it is emptied first. Then not even an index without
// replicas is unavailable for a moment.
func (s *search) emptyDir(t *testing.T) {
	require.NoError(t, s.cluster.Delete(t.Context()))
	*s = *deploySearch(t, s.bed, func(set *appsv1.StatefulSet) {
		searchcluster.Labelled(set)
		searchcluster.EmptyDir(set)
	}, "spec:\n", "spec:\n  drain: {data: {restart: Lose}}\n")
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cluster,
		Change: func(ctx context.Context) error { return s.cluster.Touch(ctx, "empty-dir", searchcluster.Data) },
	})
	s.careful(t, out)
	require.Zero(t, out.Alone.Failed, "requests to what has one copy: %v", out.Alone.Failures)
	require.Empty(t, out.Witness.Alone, "one copy, unavailable")
	require.Len(t, out.Witness.RestartCounts(), 4, "every pod with data restarts")
	require.Empty(t, out.Witness.Again(), "once")
	s.leftAsBefore(t)
}
