package credentials

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFromDir(t *testing.T) {
	dir := t.TempDir()
	read := FromDir(dir)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}

	user, password, err := read()
	require.NoError(t, err)
	require.Empty(t, user, "no files: anonymous")
	require.Empty(t, password.Reveal())

	write("username", "ann\n")
	_, _, err = read()
	require.ErrorContains(t, err, "password")

	write("password", "s3cret \r\n")
	user, password, err = read()
	require.NoError(t, err)
	require.Equal(t, "ann", user)
	require.Equal(t, "s3cret ", password.Reveal(), "only the line end goes")

	write("password", "rotated")
	_, password, err = read()
	require.NoError(t, err)
	require.Equal(t, "rotated", password.Reveal(), "read again each time")

	write("username", "")
	_, _, err = read()
	require.ErrorContains(t, err, "username is empty")
}

func TestFromFilesOfOneDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"username": "ann", "password": "a", "replication-username": "rep", "replication-password": "r"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for prefix, want := range map[string]string{"": "ann a", "replication-": "rep r", "other-": " "} {
		user, password, err := FromFiles(dir, prefix)()
		require.NoError(t, err)
		require.Equal(t, want, user+" "+password.Reveal())
	}
}
