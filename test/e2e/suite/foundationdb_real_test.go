package suite

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/fdbpods"
)

// TestFoundationDBOfAFolder rolls a real FoundationDB: pods made from the programs of the folder that ROLLCALL_FDB_HOME names,
// nine in three zones, all data twice, coordinators by host name.
func TestFoundationDBOfAFolder(t *testing.T) {
	folder := os.Getenv("ROLLCALL_FDB_HOME")
	if folder == "" {
		t.Skip("ROLLCALL_FDB_HOME is not set: must be a folder with fdbserver and fdbcli, as in make test-foundationdb FDB=FOLDER")
	}
	b := bed(t)
	leaveNothing(t, b)
	ctx := t.Context()
	require.NoError(t, b.LoadFoundationDB(ctx, folder))
	require.NoError(t, b.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	require.NoError(t, b.Apply(ctx, manifest(t, b, "foundationdb-databasecluster.yaml")))
	cluster, err := fdbpods.Deploy(ctx, b)
	require.NoError(t, err)
	// A pod that comes while no webhook answers has no agent; the next change adopts it.
	_, err = b.Rollcall(ctx, "approve", fdbpods.Name, "-n", fdbpods.Namespace, "--what", "adopt", "--any-revision")
	require.NoError(t, err)
	f := &realFDB{cluster: cluster}
	walk(t, []step{
		{"ZoneByZone", f.zoneByZone},
		{"EmptiedBeforeItGoes", f.emptied},
	}, nil)
	require.NoError(t, cluster.Delete(ctx))
}

type realFDB struct {
	cluster *fdbpods.Cluster
	clients int
}

// under runs a change while an application writes, until the database says that it is whole. Nothing that was acknowledged
// is lost, no write fails after the application's own tries, and never is something away in two zones.
func (f *realFDB) under(t *testing.T, change func(ctx context.Context) error) fdbpods.Seen {
	t.Helper()
	ctx := t.Context()
	f.clients++
	client, err := f.cluster.StartClient(ctx, fmt.Sprintf("client%d", f.clients))
	require.NoError(t, err)
	before, err := f.cluster.Status(ctx)
	require.NoError(t, err)
	w := f.cluster.StartWatch(ctx)
	began := time.Now()
	if err = change(ctx); err == nil {
		err = f.cluster.Whole(ctx, rolloutLimit)
	}
	took := time.Since(began).Round(time.Second)
	outcome, stopErr := client.Stop(ctx)
	seen := w.Stop()
	t.Logf("%s; %s; %s", took, outcome, seen)
	if err != nil {
		describe(t)
	}
	require.NoError(t, err)
	require.NoError(t, stopErr)
	require.Greater(t, outcome.Acknowledged, 30, "the application did not run")
	require.Zero(t, outcome.Lost, outcome.Words)
	require.Zero(t, outcome.Failed, outcome.Words)
	require.Equal(t, 1, seen.Most, "zones with something away together: %s", seen.Together)
	after, err := f.cluster.Status(ctx)
	require.NoError(t, err)
	require.Len(t, after.Seats(), len(before.Seats()), "coordinators")
	for _, seat := range after.Seats() {
		require.Regexp(t, `^fdb-(storage|log)-\d\.fdb:4500$`, seat, "coordinators keep their names")
	}
	return seen
}

func (f *realFDB) zoneByZone(t *testing.T) {
	seen := f.under(t, func(ctx context.Context) error { return f.cluster.Touch(ctx, "zone-by-zone") })
	require.Len(t, seen.Goings, 9)
	require.Len(t, seen.Times(), 9, "each goes once")
	require.LessOrEqual(t, len(seen.Runs()), 9, "each class zone by zone")
}

// emptied: a coordinator's pod gives its seat and its data away, and comes back on a new volume.
func (f *realFDB) emptied(t *testing.T) {
	const pod = "fdb-log-1"
	claim := func(ctx context.Context) (string, error) {
		c, err := f.cluster.Bed.Kube.CoreV1().PersistentVolumeClaims(fdbpods.Namespace).Get(ctx, "data-"+pod, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return string(c.UID), nil
	}
	before, err := claim(t.Context())
	require.NoError(t, err)
	seen := f.under(t, func(ctx context.Context) error {
		if _, err := f.cluster.Bed.Rollcall(ctx, "replace", pod, "-n", fdbpods.Namespace); err != nil {
			return err
		}
		return f.cluster.Bed.Eventually(ctx, pod+" on a new volume", 10*time.Minute, func(ctx context.Context) error {
			now, err := claim(ctx)
			if err == nil && now == before {
				err = fmt.Errorf("its volume claim is still %s", now)
			}
			return err
		})
	})
	require.Equal(t, map[string]int{pod: 1}, seen.Times())
	after, err := f.cluster.Status(t.Context())
	require.NoError(t, err)
	require.NotContains(t, after.Seats(), pod+".fdb:4500", "its seat has moved")
}
