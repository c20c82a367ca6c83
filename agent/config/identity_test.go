package config

import (
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFromEnv(t *testing.T) {
	full := map[string]string{
		EnvNamespace: "prod", EnvCluster: "search", EnvPod: "search-0", EnvPodUID: "uid", EnvPodIP: "fd00::5",
		EnvNode: "n", EnvNodeIPs: "192.0.2.7,fd00::7", EnvZone: "z", EnvStopToken: "t", EnvGraceSeconds: "120",
	}
	id, err := FromEnv(func(k string) string { return full[k] })
	require.NoError(t, err)
	require.Equal(t, "fd00::5", id.PodIP.String())
	require.Equal(t, 120*time.Second, id.Grace)
	require.Equal(t, []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("fd00::7")}, id.NodeIPs)
	require.Equal(t, "search", id.Cluster)

	for name, want := range map[string]string{
		EnvNamespace: "ROLLCALL_NAMESPACE is empty", EnvCluster: "rollcall.dev/cluster", EnvPod: "metadata.name",
		EnvPodUID: "ROLLCALL_POD_UID is empty", EnvPodIP: `ROLLCALL_POD_IP is ""`,
	} {
		less := maps.Clone(full)
		delete(less, name)
		_, err := FromEnv(func(k string) string { return less[k] })
		require.ErrorContains(t, err, want)
	}
	for name, value := range map[string]string{EnvPodIP: "0.0.0.0", EnvNodeIPs: "192.0.2.7,node", EnvGraceSeconds: "1m"} {
		wrong := maps.Clone(full)
		wrong[name] = value
		_, err := FromEnv(func(k string) string { return wrong[k] })
		require.ErrorContains(t, err, name)
	}

	few := maps.Clone(full)
	for _, name := range []string{EnvNode, EnvNodeIPs, EnvZone, EnvStopToken, EnvGraceSeconds} {
		delete(few, name)
	}
	id, err = FromEnv(func(k string) string { return few[k] })
	require.NoError(t, err)
	require.Equal(t, DefaultGrace, id.Grace)
	_, err = FromEnv(func(string) string { return "" })
	require.ErrorContains(t, err, EnvNamespace)
	require.ErrorContains(t, err, EnvPodIP, "all of them are named at once")
}
