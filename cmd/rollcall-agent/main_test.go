package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
)

func TestFlags(t *testing.T) {
	f, err := parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, ":7947", f.grpcAddress)
	require.Equal(t, ":7948", f.httpAddress)
	require.EqualValues(t, 7946, f.gossipPort)
	require.False(t, f.insecure)
	for want, args := range map[string][]string{
		"unexpected argument": {"serve"},
		"-gossip-port is 0":   {"-gossip-port", "0"},
		"-probe-interval":     {"-probe-interval", "1ms"},
		"-probe-timeout":      {"-probe-timeout", "-1s"},
		"log-level":           {"-log-level", "loud"},
		"not defined":         {"-nonsense"},
	} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, want)
	}
	var help bytes.Buffer
	_, err = parse([]string{"-h"}, &help)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Contains(t, help.String(), "insecure-dev")
}

func TestRunNamesWhatIsMissing(t *testing.T) {
	err := run(context.Background(), nil, func(string) string { return "" }, io.Discard, io.Discard)
	require.ErrorContains(t, err, config.EnvPodUID)
	require.ErrorContains(t, err, config.EnvNamespace)
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), []string{"-version"}, nil, &out, io.Discard))
	require.Equal(t, "dev\n", out.String())
}

func TestEngines(t *testing.T) {
	create := engineFrom(source{credentials: t.TempDir(), state: t.TempDir(), pod: "db-0"})
	for _, name := range []string{"Solr", "OpenSearch", "MySQL", "MariaDB", "Galera", "ZooKeeper"} {
		e, err := create(config.File{Engine: name}, nil)
		require.NoError(t, err)
		require.Equal(t, name, e.Facts().Name)
		require.NoError(t, e.Close())
		_, err = create(config.File{Engine: name, Connection: config.Connection{Host: "a b"}}, nil)
		require.ErrorContains(t, err, "host", name)
	}
	for _, name := range []string{"Memory", "solr", ""} {
		_, err := create(config.File{Engine: name}, nil)
		require.ErrorContains(t, err, "supported: Solr, OpenSearch, MySQL, MariaDB, FoundationDB, Galera, ZooKeeper")
	}
}

// TestLagLimit checks that what the DatabaseCluster says reaches the adapter, which refuses
// nonsense.
func TestLagLimit(t *testing.T) {
	create := engineFrom(source{credentials: t.TempDir(), state: t.TempDir(), pod: "db-0"})
	for seconds, fits := range map[int64]bool{0: true, 30: true, -1: false} {
		e, err := create(config.File{Engine: "MySQL", Connection: config.Connection{MaxLagSeconds: seconds}}, nil)
		require.Equal(t, fits, err == nil, seconds)
		if fits {
			require.NoError(t, e.Close())
		} else {
			require.ErrorContains(t, err, "max lag")
		}
	}
}

func TestFoundationDBEngine(t *testing.T) {
	state := t.TempDir()
	create := engineFrom(source{credentials: t.TempDir(), state: state, pod: "db-0"})
	for _, c := range []config.Connection{
		{}, {ClusterFile: "/var/fdb/fdb.cluster", Client: "/usr/bin/fdbcli"}, {TLS: config.ConnectionTLS{Enabled: true, CA: "PEM"}},
	} {
		e, err := create(config.File{Engine: "FoundationDB", Connection: c}, nil)
		require.NoError(t, err)
		require.Equal(t, "FoundationDB", e.Facts().Name)
		require.NoError(t, e.Close())
	}
	require.FileExists(t, filepath.Join(state, "foundationdb", "ca.crt"))
	for what, c := range map[string]config.Connection{
		"cluster file": {ClusterFile: "fdb.cluster"}, "client": {Client: "bin/fdbcli"}, "serverName": {TLS: config.ConnectionTLS{ServerName: "db"}},
	} {
		_, err := create(config.File{Engine: "FoundationDB", Connection: c}, nil)
		require.ErrorContains(t, err, what)
	}
}

func TestStateDirectoryIsOptional(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	require.Equal(t, dir, usable(dir, logger))
	require.Empty(t, usable(dir+"/none", logger))
	require.Empty(t, usable("", logger))
}
