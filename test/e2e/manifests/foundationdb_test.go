package manifests

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

func foundationDBSets(t *testing.T) map[string]appsv1.StatefulSet {
	t.Helper()
	text, err := os.ReadFile("foundationdb.yaml")
	require.NoError(t, err)
	sets := map[string]appsv1.StatefulSet{}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var set appsv1.StatefulSet
		require.NoError(t, yaml.Unmarshal([]byte(doc), &set))
		if set.Kind == "StatefulSet" {
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &set))
			sets[set.Name] = set
		}
	}
	return sets
}

// expand puts variables and folders of a test into a container's arguments.
func expand(args []string, replace map[string]string) []string {
	var pairs []string
	for from, to := range replace {
		pairs = append(pairs, from, to)
	}
	replacer := strings.NewReplacer(pairs...)
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = replacer.Replace(a)
	}
	return out
}

// What the manifest asks of the image is what its program does: nine processes with just these arguments make a database.
func TestFoundationDBPodsMakeADatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("runs ten processes")
	}
	sets := foundationDBSets(t)
	set, world := sets["fdb"], sets["fdb-world"]
	program := fdbsimtest.Program(t, "fdbsim", "7.3.63")
	at := freeport.At(t)
	dir := t.TempDir()
	start := func(args []string) {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "FDBSIM_WORLD="+at, "FDBSIM_VERSION=7.3.63")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Stderr = t.Output()
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	start(expand(world.Spec.Template.Spec.Containers[0].Args, map[string]string{":4400": at, "/data": dir}))
	var hosts []string
	for n := range int(*set.Spec.Replicas) {
		hosts = append(hosts, fmt.Sprintf("127.251.0.%d", 10+n))
	}
	port := strconv.Itoa(freeport.Take(t, 1, hosts...)[0])
	for n, host := range hosts {
		home := filepath.Join(dir, fmt.Sprint(n))
		shared := filepath.Join(home, "shared")
		replace := map[string]string{
			"/var/fdb": shared, "/data": filepath.Join(home, "data"), "$(POD_IP):4500": net.JoinHostPort(host, port),
			"0.0.0.0:4500": net.JoinHostPort(host, port), "$(POD_NAME)": fmt.Sprintf("fdb-%d", n), "$(NODE)": fmt.Sprintf("node%d", n),
			"$(ZONE)": fmt.Sprintf("z%d", 1+n%3),
		}
		install := exec.Command(program, expand(set.Spec.Template.Spec.InitContainers[0].Args, replace)...)
		out, err := install.CombinedOutput()
		require.NoError(t, err, "%s", out)
		start(expand(set.Spec.Template.Spec.Containers[0].Args, replace))
	}
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var v wire.View
		err := wire.Post(ctx, wire.NewClient(), at, wire.PathControl, wire.Command{Op: wire.Look}, &v)
		return err == nil && v.Available && len(v.Up) == 9
	}, 5*time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		connection, err := wire.ReadClusterFile(filepath.Join(dir, "0", "shared", "fdb.cluster"))
		return err == nil && connection.ID != "new" && len(connection.Addresses) == 3 && strings.HasSuffix(connection.Addresses[0], ".fdb:"+port)
	}, 5*time.Minute, 50*time.Millisecond, "coordinators have names")
}

// An agent finds fdbcli and the cluster file on the volume that is mounted into it for its name, where it looks for them when
// nobody says otherwise; the server keeps that file up to date.
func TestFoundationDBSharesItsClusterFile(t *testing.T) {
	text, err := os.ReadFile("foundationdb-databasecluster.yaml")
	require.NoError(t, err)
	var cluster v1alpha1.DatabaseCluster
	require.NoError(t, yaml.UnmarshalStrict(text, &cluster))
	require.Zero(t, cluster.Spec.Connection)
	spec := foundationDBSets(t)["fdb"].Spec.Template.Spec
	installer, server := spec.InitContainers[0], spec.Containers[0]
	i := slices.IndexFunc(server.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == config.ClientVolume })
	require.NotEqual(t, -1, i)
	dir := server.VolumeMounts[i].MountPath
	require.Equal(t, []corev1.VolumeMount{{Name: config.ClientVolume, MountPath: dir}}, installer.VolumeMounts)
	require.Contains(t, installer.Args, "-dir="+dir)
	require.Contains(t, server.Args, "--cluster_file="+filepath.Join(dir, "fdb.cluster"))
	require.Contains(t, server.Args, "--locality_instance_id=$(POD_NAME)")

	own := t.TempDir()
	out, err := exec.Command(fdbsimtest.Program(t, "fdbsim", "7.3.63"), expand(installer.Args, map[string]string{dir: own})...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.FileExists(t, filepath.Join(own, "fdb.cluster"))
	version, err := exec.Command(filepath.Join(own, "fdbcli"), "--version").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(version), "v7.3.63")
}
