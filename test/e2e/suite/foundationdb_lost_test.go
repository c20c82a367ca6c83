package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/fdbcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// volumeLost: the volume of a coordinator's pod is gone for ever, and the pod with it.
// Its successor finds no node, so no agent runs in it: after its time another pod's
// agent moves the seat and what is left of it, and it comes back on a new volume.
func (f *fdb) volumeLost(t *testing.T) {
	ctx := t.Context()
	require.NoError(t, f.spec(ctx, fmt.Sprintf(`{"replacement":{"enabled":true,"failureDetectionSeconds":%d}}`, int(detection.Seconds()))))
	guard := unguarded(t, f.bed, fdbcluster.Name, fdbcluster.Namespace)
	pod := f.seated(t)
	claim, err := f.bed.Kube.CoreV1().PersistentVolumeClaims(fdbcluster.Namespace).Get(ctx, "data-"+pod, metav1.GetOptions{})
	require.NoError(t, err)
	var seats, holding []string // when it got its new volume
	var renewed time.Time
	seen, stats := f.under(t, func(ctx context.Context, _ *fdbcluster.Watch) error {
		for _, args := range [][]string{
			{"delete", "pv", claim.Spec.VolumeName, "--wait=false"},
			{"patch", "pv", claim.Spec.VolumeName, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`},
			{"delete", "pod", pod, "-n", fdbcluster.Namespace},
		} {
			if _, err := f.bed.Kubectl(ctx, "", args...); err != nil {
				return err
			}
		}
		err := f.bed.Eventually(ctx, pod+" on a new volume", 10*time.Minute, func(ctx context.Context) error {
			now, err := f.claimUID(ctx, pod)
			if err == nil && now == claim.UID {
				err = fmt.Errorf("its volume claim is still %s", now)
			}
			return err
		})
		if err != nil {
			return err
		}
		renewed = time.Now()
		v, err := f.cluster.Look(ctx)
		seats, holding = v.Seats, v.Holding
		return err
	})
	require.Zero(t, stats.Failed, "operations of the application")
	require.Equal(t, map[string]int{pod: 1}, seen.Times(), "a pod that has no node goes at once, and nobody else goes")
	require.GreaterOrEqual(t, renewed.Sub(seen.Goings[0].At), detection)
	require.NotContains(t, seats, pod, "its coordinator's seat")
	require.NotContains(t, holding, pod, "data")
	guard()
	require.NoError(t, f.spec(t.Context(), `{"replacement":null}`))
}

// zoneLost: a node dies in mid-rollout, and all of a zone with it. Nobody else goes
// until it is back; then the rollout is finished.
func (f *fdb) zoneLost(t *testing.T) {
	node, lost := f.cluster.NodeApart()
	require.NotEmpty(t, node)
	rollcall := func(ctx context.Context, verb string) error {
		_, err := f.bed.Rollcall(ctx, verb, fdbcluster.Name, "-n", fdbcluster.Namespace)
		return err
	}
	var before, after int
	seen, _ := f.under(t, func(ctx context.Context, w *fdbcluster.Watch) error {
		if err := f.cluster.Touch(ctx, "zone-lost"); err != nil {
			return err
		}
		if err := f.bed.Eventually(ctx, "the first zone", 5*time.Minute, func(context.Context) error {
			if n := len(w.Seen().Goings); n < 3 {
				return fmt.Errorf("%d pods went", n)
			}
			return nil
		}); err != nil {
			return err
		}
		// Between two pods, so that it is the loss alone which takes data away.
		if err := rollcall(ctx, "pause"); err != nil {
			return err
		}
		if err := f.bed.Eventually(ctx, "everybody back", 5*time.Minute, func(ctx context.Context) error {
			v, err := f.cluster.Look(ctx)
			if err == nil && (len(v.Up) != 9 || v.Maintenance != "" || v.SpareCopies != 1) {
				err = fmt.Errorf("up are %v, maintenance of %q, %d spare copies", v.Up, v.Maintenance, v.SpareCopies)
			}
			return err
		}); err != nil {
			return err
		}
		if err := f.bed.Node(ctx, "stop", node); err != nil {
			return err
		}
		if err := rollcall(ctx, "resume"); err != nil {
			return err
		}
		before = len(w.Seen().Goings)
		if err := testbed.Pause(ctx, 60*time.Second); err != nil {
			return err
		}
		after = len(w.Seen().Goings)
		f.bed.Logf("%s with %v was lost after %d pods, and %d went until it came back", node, lost, before, after-before)
		return f.bed.Node(ctx, "start", node)
	})
	require.Equal(t, before, after, "pods went while a zone was lost")
	require.LessOrEqual(t, seen.Zones, 2, "at the moment of the loss one more may be unavailable: %s", seen.Together)
	require.GreaterOrEqual(t, seen.LeastSpare, 0)
	for _, pod := range lost {
		require.LessOrEqual(t, seen.Times()[pod], 2, "Kubernetes may end it, too")
	}
}

// taintedNode: a taint that is exempted moves nobody; another empties the node, one
// pod after the other. Whoever has a coordinator's seat stays, as there are three of
// these, and no zone without one: that is told.
func (f *fdb) taintedNode(t *testing.T) {
	ctx := t.Context()
	// Pods of a node that takes none go to other zones.
	require.NoError(t, f.cluster.Patch(ctx, `{"spec":{"template":{"spec":{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"`+fdbcluster.Zone+`","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"app":"fdb"}}}]}}}}`))
	require.NoError(t, f.cluster.Whole(ctx, rolloutLimit))
	node, pods := f.cluster.NodeApart()
	v, err := f.cluster.Look(ctx)
	require.NoError(t, err)
	var seated, free []string
	for _, pod := range pods {
		if slices.Contains(v.Seats, pod) {
			seated = append(seated, pod)
		} else {
			free = append(free, pod)
		}
	}
	require.Len(t, seated, 1, "a zone has one seat")
	require.NotEmpty(t, free)
	taint := func(ctx context.Context, what string) error {
		_, err := f.bed.Kubectl(ctx, "", "taint", "node", node, what)
		return err
	}
	t.Cleanup(func() {
		_ = taint(context.Background(), "example.com/ill-")
		_ = taint(context.Background(), "example.com/fine-")
	})
	require.NoError(t, f.spec(ctx, `{"replacement":{"enabled":true,"taintReplacementSeconds":5,"maxConcurrentFailed":1,"taints":[
		{"key":"*","durationSeconds":20},{"key":"example.com/fine","durationSeconds":9223372036854775807}]}}`))
	seen, _ := f.under(t, func(ctx context.Context, w *fdbcluster.Watch) error {
		if err := taint(ctx, "example.com/fine=x:NoSchedule"); err != nil {
			return err
		}
		if err := testbed.Pause(ctx, time.Minute); err != nil {
			return err
		}
		if n := len(w.Seen().Goings); n > 0 {
			return fmt.Errorf("%d pods went for a taint that is exempted", n)
		}
		if err := taint(ctx, "example.com/ill=x:NoSchedule"); err != nil {
			return err
		}
		err := f.bed.Eventually(ctx, node+" to have its seat only", 15*time.Minute, func(context.Context) error {
			for _, p := range f.cluster.Pods.All() {
				if p.Spec.NodeName == node && !slices.Contains(seated, p.Name) {
					return fmt.Errorf("%s is on it", p.Name)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return f.bed.Eventually(ctx, "the seat to be told of", 3*time.Minute, func(ctx context.Context) error {
			said, err := f.bed.Rollcall(ctx, "explain", seated[0], "-n", fdbcluster.Namespace)
			if err == nil && !strings.Contains(said, "no process in a zone with room for a coordinator can take the seat of "+seated[0]) {
				err = errors.New(said)
			}
			return err
		})
	})
	times := seen.Times()
	require.Len(t, times, len(free), "%v", times)
	for _, pod := range free {
		require.Equal(t, 1, times[pod], pod)
	}
	for _, g := range seen.Goings {
		require.False(t, g.Seat || g.Holding, "%s had a seat or data", g.Pod)
	}
	// One that is empty is in flight no more, and the next may be excluded before it is included again.
	require.LessOrEqual(t, seen.Zones, 1, "of zones unavailable together")
	require.NoError(t, f.spec(t.Context(), `{"replacement":null}`))
}
