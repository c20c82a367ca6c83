package image

import (
	"archive/zip"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func writeJar(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.jar")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	for name, text := range files {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return path
}

func TestUnpackJar(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, unpackJar(t.Context(), dir, writeJar(t, map[string]string{"a/linux/bin/mariadbd": "x", "b": "y"}), "a/linux"))
	require.FileExists(t, filepath.Join(dir, "bin", "mariadbd"))
	require.NoFileExists(t, filepath.Join(dir, "b"))

	from := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(from, "mysqld"), []byte("x"), 0o755))
	archive, err := exec.Command("tar", "-C", from, "-cz", ".").Output()
	require.NoError(t, err)
	dir = filepath.Join(t.TempDir(), "archive")
	require.NoError(t, unpackJar(t.Context(), dir, writeJar(t, map[string]string{"linux.tar.gz": string(archive)}), "linux.tar.gz"))
	require.FileExists(t, filepath.Join(dir, "mysqld"))
}

// TestAnotherJarIsRefused checks that nothing is taken from a jar that is not the one that was meant.
func TestAnotherJarIsRefused(t *testing.T) {
	jar := writeJar(t, nil)
	require.ErrorContains(t, checkSum(jar, mysql80.sha256), "server.jar has the SHA-256 ")
	maven := "#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) cp " + jar + " ${a#*=};; esac; done\n"
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "mvn"), []byte(maven), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	require.ErrorContains(t, builder(t).fillFromJar(t.Context(), t.TempDir(), "", mysql80), "is wanted")
}

func TestHomeOf(t *testing.T) {
	named := func(version string) SQLHome {
		return SQLHome{Version: version, make: func(Builder, context.Context) (string, error) { return "/" + version, nil }}
	}
	homes := []SQLHome{named("10.11"), named("11.4")}
	for version, want := range map[string]string{"": "/10.11", "10.11": "/10.11", "11.4": "/11.4"} {
		h, err := HomeOf(homes, version)
		require.NoError(t, err)
		got, err := h.Make(t.Context(), Builder{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := HomeOf(homes, "11")
	require.ErrorContains(t, err, "no version 11: there are 10.11, 11.4")
}
