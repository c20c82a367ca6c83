package image

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
)

func TestFoundationDBImage(t *testing.T) {
	b := builder(t)
	dir := filepath.Join(b.Root, simulatedFoundationDB)
	_, err := b.Build(t.Context(), "foundationdb")
	require.ErrorIs(t, err, ErrNoPackage)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(b.Root, "go.mod"), []byte("module example.com/x\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o644))
	built, err := b.Build(t.Context(), "foundationdb")
	require.NoError(t, err)
	require.True(t, built[0].Fresh)
	tags, err := archive.Tags(built[0].Archive)
	require.NoError(t, err)
	require.Equal(t, []string{
		FoundationDBName + ":7.3.63", FoundationDBName + ":7.3.70", FoundationDBName + ":7.4.5", FoundationDBName + ":7.3.70-broken",
	}, tags)
	for i, image := range built[0].Images[:3] {
		require.Equal(t, []string{"FDBSIM_VERSION=" + foundationDBVersions[i]}, image.Config.Env)
		require.Equal(t, built[0].Images[0].Layers, image.Layers, "one layer for all")
		require.Equal(t, "4059:4059", image.Config.User)
	}
	require.NotEqual(t, built[0].Images[1].Config.Entrypoint, built[0].Images[3].Config.Entrypoint)
	built, err = b.Build(t.Context(), "foundationdb")
	require.NoError(t, err)
	require.False(t, built[0].Fresh)
}
