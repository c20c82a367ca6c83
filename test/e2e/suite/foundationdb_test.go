package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/test/e2e/fdbcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// TestFoundationDB walks one simulated FoundationDB, of which all but the server is
// real, through everything: nine pods in three zones, all data twice.
func TestFoundationDB(t *testing.T) {
	measured(t)
	b := bed(t, "foundationdb")
	leaveNothing(t, b)
	f := deployFDB(t, b, fdbcluster.Options{})
	walk(t, []step{
		{"ZoneByZone", f.zoneByZone},
		{"EmptiedBeforeItGoes", f.replaced},
	}, []step{
		{"KilledBetweenExcludeAndInclude", f.killedWhileExcluded},
		{"FailedPodIsReplaced", f.failedIsReplaced},
		{"VolumeLost", f.volumeLost},
		{"ZoneLost", f.zoneLost},
		{"TaintedNode", f.taintedNode},
		{"Triple", f.triple},
	})
	require.NoError(t, f.cluster.Delete(t.Context()), "a namespace with Rollcall in it can be deleted")
}

type fdb struct {
	bed     *testbed.Bed
	cluster *fdbcluster.Cluster
	clients int
}

func deployFDB(t *testing.T, b *testbed.Bed, o fdbcluster.Options) *fdb {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, b.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	require.NoError(t, b.Apply(ctx, manifest(t, b, "foundationdb-databasecluster.yaml")))
	cluster, err := fdbcluster.Deploy(ctx, b, o)
	require.NoError(t, err)
	// A pod that comes while no webhook answers has no agent; the next change adopts it.
	_, err = b.Rollcall(ctx, "approve", fdbcluster.Name, "-n", fdbcluster.Namespace, "--what", "adopt", "--any-revision")
	require.NoError(t, err)
	return &fdb{bed: b, cluster: cluster}
}

// under runs a change while an application uses the database and somebody looks on,
// until the database is whole again. Nothing that was acknowledged is ever lost, and
// there is always a copy of everything.
func (f *fdb) under(t *testing.T, change func(ctx context.Context, w *fdbcluster.Watch) error) (fdbcluster.Seen, fdbcluster.Stats) {
	t.Helper()
	ctx := t.Context()
	f.clients++
	client, err := f.cluster.StartClient(ctx, fmt.Sprintf("fdb-client-%d", f.clients))
	require.NoError(t, err)
	w := f.cluster.StartWatch(ctx)
	began := time.Now()
	if err = change(ctx, w); err == nil {
		err = f.cluster.Whole(ctx, rolloutLimit)
	}
	took := time.Since(began).Round(time.Second)
	stats, stopErr := client.Stop(ctx)
	seen := w.Stop()
	t.Logf("%s; %s; %s", took, stats, seen)
	if err != nil {
		describe(t)
	}
	require.NoError(t, err)
	require.NoError(t, stopErr)
	require.Greater(t, stats.Writes, 100, "the application did not run")
	require.Less(t, seen.Misses*10, seen.Looks, "the witness was blind")
	require.Zero(t, stats.Lost+seen.LostWrites, "acknowledged writes that are gone")
	require.Zero(t, seen.Unreached, "data was out of reach")
	return seen, stats
}

// patch changes the DatabaseCluster's spec.
func (f *fdb) spec(ctx context.Context, spec string) error {
	_, err := f.bed.Kubectl(ctx, "", "patch", "databasecluster", fdbcluster.Name, "-n", fdbcluster.Namespace, "--type=merge", "-p", `{"spec":`+spec+`}`)
	return err
}

// zoneByZone: every pod restarts once, all of a zone before any of the next, and never
// is something away in two zones.
func (f *fdb) zoneByZone(t *testing.T) { f.rolledByZone(t, f.cluster, "zone-by-zone") }

func (f *fdb) rolledByZone(t *testing.T, cluster *fdbcluster.Cluster, change string) {
	t.Helper()
	seen, stats := f.under(t, func(ctx context.Context, _ *fdbcluster.Watch) error { return cluster.Touch(ctx, change) })
	require.Len(t, seen.Goings, 9)
	require.Len(t, seen.Times(), 9, "each goes once")
	require.Len(t, seen.Runs(), 3, "a zone is finished before the next begins")
	require.Equal(t, 1, seen.Zones, "zones with something away together: %s", seen.Together)
	require.GreaterOrEqual(t, seen.LeastSpare, cluster.Copies-2)
	require.Zero(t, stats.Failed, "operations of the application")
}

// claimUID is that of the volume claim of a pod.
func (f *fdb) claimUID(ctx context.Context, pod string) (types.UID, error) {
	claim, err := f.bed.Kube.CoreV1().PersistentVolumeClaims(fdbcluster.Namespace).Get(ctx, "data-"+pod, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return claim.UID, nil
}

// seated is a pod that has a coordinator's seat.
func (f *fdb) seated(t *testing.T) (pod string) {
	t.Helper()
	v, err := f.cluster.Look(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, v.Seats)
	return v.Seats[0]
}

// replacement returns the replacement of one pod: on a new volume, and not before the database had
// nothing on the old one any more. cause makes it be replaced, meanwhile what else is done.
func (f *fdb) replacement(t *testing.T, pod string, cause func(ctx context.Context) error, meanwhile func(ctx context.Context, w *fdbcluster.Watch) error) (fdbcluster.Seen, fdbcluster.Stats) {
	t.Helper()
	before, err := f.claimUID(t.Context(), pod)
	require.NoError(t, err)
	seen, stats := f.under(t, func(ctx context.Context, w *fdbcluster.Watch) error {
		if err := cause(ctx); err != nil {
			return err
		}
		if meanwhile != nil {
			if err := meanwhile(ctx, w); err != nil {
				return err
			}
		}
		return f.bed.Eventually(ctx, pod+" on a new volume", 10*time.Minute, func(ctx context.Context) error {
			now, err := f.claimUID(ctx, pod)
			if err == nil && now == before {
				err = fmt.Errorf("its volume claim is still %s", now)
			}
			return err
		})
	})
	require.Equal(t, map[string]int{pod: 1}, seen.Times())
	require.False(t, seen.Goings[0].Seat, "it had a coordinator's seat")
	require.False(t, seen.Goings[0].Holding, "it had data")
	require.GreaterOrEqual(t, seen.LeastSpare, f.cluster.Copies-2)
	return seen, stats
}

func (f *fdb) replace(pod string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := f.bed.Rollcall(ctx, "replace", pod, "-n", fdbcluster.Namespace)
		return err
	}
}

// replaced: a coordinator's pod gives its seat and its data away before it goes.
func (f *fdb) replaced(t *testing.T) {
	pod := f.seated(t)
	_, stats := f.replacement(t, pod, f.replace(pod), nil)
	require.Zero(t, stats.Failed, "operations of the application")
}

// killedWhileExcluded: agent and coordinator are killed while the pod is excluded, and
// both once more when its successor is there: it is included in the end, and goes once.
func (f *fdb) killedWhileExcluded(t *testing.T) {
	pod := f.seated(t)
	kill := func(ctx context.Context, uid types.UID) error {
		if _, err := f.bed.Kill(string(uid), "rollcall-agent"); err != nil {
			return err
		}
		return killLeader(ctx, f.bed)
	}
	_, stats := f.replacement(t, pod, f.replace(pod), func(ctx context.Context, _ *fdbcluster.Watch) error {
		first := f.cluster.Pod(pod)
		err := f.bed.Eventually(ctx, pod+" excluded", 5*time.Minute, func(ctx context.Context) error {
			v, err := f.cluster.Look(ctx)
			if err == nil && !slices.Contains(fdbcluster.Marked(v), pod) {
				err = fmt.Errorf("excluded are %v", v.Excluded)
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := kill(ctx, first.UID); err != nil {
			return err
		}
		var next types.UID
		err = f.bed.Eventually(ctx, "the successor of "+pod, 10*time.Minute, func(context.Context) error {
			p := f.cluster.Pod(pod)
			if p == nil || p.UID == first.UID || !testbed.Ready(p) {
				return fmt.Errorf("%s is not back", pod)
			}
			next = p.UID
			return nil
		})
		if err != nil {
			return err
		}
		return kill(ctx, next)
	})
	require.Zero(t, stats.Failed, "operations of the application")
}

// detection is how long a pod may fail before it is replaced.
const detection = 40 * time.Second

// failedIsReplaced: a pod whose server does not start is left alone for its time, then
// its data are moved and it gets a new volume.
func (f *fdb) failedIsReplaced(t *testing.T) {
	ctx := t.Context()
	require.NoError(t, f.spec(ctx, fmt.Sprintf(`{"replacement":{"enabled":true,"failureDetectionSeconds":%d}}`, int(detection.Seconds()))))
	const pod = "fdb-4"
	var failed time.Time
	seen, _ := f.replacement(t, pod, func(ctx context.Context) error {
		failed = time.Now()
		_, err := f.bed.Kubectl(ctx, "", "set", "image", "pod/"+pod, "-n", fdbcluster.Namespace, fdbcluster.Container+"="+fdbcluster.Image+":7.3.70-broken")
		return err
	}, nil)
	require.GreaterOrEqual(t, seen.Goings[0].At.Sub(failed), detection)
	require.NoError(t, f.spec(t.Context(), `{"replacement":null}`))
}

// triple: the same rollout of a database that has everything three times.
func (f *fdb) triple(t *testing.T) {
	require.NoError(t, f.cluster.Delete(t.Context()))
	*f = *deployFDB(t, f.bed, fdbcluster.Options{Redundancy: "triple"})
	f.rolledByZone(t, f.cluster, "triple")
}
