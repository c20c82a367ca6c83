package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/confine"
	"github.com/rollcall-dev/rollcall/test/locked"
)

func TestFdbcliGetsTheDatabasesKeyWithTLSOnly(t *testing.T) {
	from := source{config: "/keys", credentials: "/passwords"}
	require.Equal(t, []string{"/keys", "/passwords"}, from.hidden(false))
	require.Equal(t, []string{"/keys"}, from.hidden(true))
	require.Empty(t, from.confined(from.hidden(true)), "by nobody")
}

// The real program starts an fdbcli that tries to read its key, its gossip key, and what the
// Secret with credentials has; and that reads its cluster file, and writes.
func TestFdbcliReadsNoKeyOfItsAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	binary := filepath.Join(t.TempDir(), "rollcall-agent")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", tags, "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))

	for _, tls := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", tls), func(t *testing.T) {
			dir, passwords, state, client := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
			if err := confine.Try(confine.Prefix(binary, dir), binary, "-version"); err != nil {
				t.Skip(err)
			}
			seen, cli, file := filepath.Join(state, "seen"), filepath.Join(client, "fdbcli"), filepath.Join(client, "fdb.cluster")
			script := fmt.Sprintf("#!/bin/bash\n{ cat %s/tls.key %s/gossip.key %s/tls.key; cat \"$2\"; } > %s.new 2>&1; mv %[4]s.new %[4]s\n", dir, dir, passwords, seen)
			require.NoError(t, os.WriteFile(cli, []byte(script), 0o755))
			require.NoError(t, os.WriteFile(file, []byte("fdb:abc@127.0.0.1:1\n"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(passwords, "tls.key"), []byte("the database's key"), 0o644))
			connection := config.Connection{Client: cli, ClusterFile: file, TLS: config.ConnectionTLS{Enabled: tls}}
			agenttest.NewAuthority(t).Mount(dir, "prod", "search", config.File{
				ClusterUID: "cluster-uid", Service: "localhost", Engine: "FoundationDB", Connection: connection,
			}, []byte("the-gossip-key-0123456789-abcdef"))

			log := &locked.Buffer{}
			process := exec.CommandContext(t.Context(), binary, "-config-dir", dir, "-credentials-dir", passwords, "-state-dir", state,
				"-grpc-addr", "127.0.0.1:0", "-http-addr", "127.0.0.1:0", "-gossip-port", fmt.Sprint(freePort(t)))
			process.Env = []string{
				"PATH=" + os.Getenv("PATH"), config.EnvNamespace + "=prod", config.EnvCluster + "=search", config.EnvPod + "=search-0", config.EnvPodUID + "=uid-0",
				config.EnvPodIP + "=127.0.0.1", config.EnvStopToken + "=token", config.EnvGraceSeconds + "=30",
			}
			process.Stderr = log
			require.NoError(t, process.Start())
			t.Cleanup(func() { _ = process.Process.Kill() })
			var text []byte
			eventually(t, log, "fdbcli to have tried", func() bool {
				text, err = os.ReadFile(seen)
				return err == nil
			})
			require.NotContains(t, string(text), "PRIVATE KEY")
			require.NotContains(t, string(text), "the-gossip-key")
			require.Contains(t, string(text), "Permission denied")
			require.Contains(t, string(text), "fdb:abc@127.0.0.1:1", "its own file it reads, and it writes")
			if tls {
				require.Contains(t, string(text), "the database's key", "which it has to show")
			} else {
				require.NotContains(t, string(text), "the database's key")
			}
			require.NotContains(t, log.String(), "could not be confined")
		})
	}
}
