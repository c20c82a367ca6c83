package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
)

// TestCredentialsAreWithheld checks that the mounted Secret is used only once the coordinator
// allows it. Without a password there is nothing to withhold.
func TestCredentialsAreWithheld(t *testing.T) {
	dir := t.TempDir()
	withheld := secretFiles{dir, "no label: kubectl label"}
	user, password, err := withheld.user("")()
	require.NoError(t, err)
	require.Empty(t, user)
	require.Empty(t, password.Reveal())

	for name, text := range map[string]string{"username": "ann", "password": "hunter2", "replication-username": "rep", "replication-password": "hunter3"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, prefix := range []string{"", "replication-"} {
		user, password, err = withheld.user(prefix)()
		require.EqualError(t, err, "no label: kubectl label")
		require.Empty(t, user)
		require.Empty(t, password.Reveal())
		user, _, err = secretFiles{dir, ""}.user(prefix)()
		require.NoError(t, err)
		require.NotEmpty(t, user)
	}
}

// TestEngineFromWithholds checks that the name of the mounted Secret counts, not the one that is
// configured now.
func TestEngineFromWithholds(t *testing.T) {
	create := engineFrom(source{credentials: t.TempDir(), secret: "mine", state: t.TempDir(), pod: "db-0"})
	tls := config.Connection{TLS: config.ConnectionTLS{Enabled: true}}
	file := config.File{Engine: "FoundationDB", Connection: tls, Secrets: map[string]config.Secret{"mine": {Refused: "no label"}, "other": {}}}
	_, err := create(file, nil)
	require.EqualError(t, err, "no label", "its key is not used")
	file.Secrets["mine"] = config.Secret{}
	e, err := create(file, nil)
	require.NoError(t, err)
	require.NoError(t, e.Close())
}
