package image

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
)

func builder(t *testing.T) Builder {
	return Builder{Root: t.TempDir(), Cache: t.TempDir(), Tag: DefaultTag, Version: "v1", Say: t.Logf}
}

// withProgram puts a program into the checkout.
func withProgram(t *testing.T, b Builder, part, source string) {
	t.Helper()
	dir := filepath.Join(b.Root, "cmd", "rollcall-"+part)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(b.Root, "go.mod"), []byte("module example.com/x\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644))
	licences := filepath.Join(b.Root, "deploy", "licences")
	require.NoError(t, os.MkdirAll(licences, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(licences, part+".txt"), []byte("as it pleases you"), 0o644))
}

// asOfAnother makes a checkout look as if somebody else had made it, with another umask at another time.
func asOfAnother(t *testing.T, root string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o400)
	}))
}

func TestOwnImageIsTheSameForTheSameSources(t *testing.T) {
	const source = "package main\n\nvar version string\n\nfunc main() { print(version) }\n"
	var archives []string
	for i := range 2 { // two checkouts at two places
		b := builder(t)
		withProgram(t, b, "agent", source)
		if i > 0 {
			asOfAnother(t, b.Root)
		}
		built, err := b.Build(t.Context(), "agent")
		require.NoError(t, err)
		require.True(t, built[0].Fresh)
		content, err := os.ReadFile(built[0].Archive)
		require.NoError(t, err)
		require.Contains(t, string(content), "as it pleases you", "licences go with the program")
		archives = append(archives, string(content))
		tags, err := archive.Tags(built[0].Archive)
		require.NoError(t, err)
		require.Equal(t, []string{"docker.io/rollcall-dev/agent:dev"}, tags)

		before, err := os.Stat(built[0].Archive)
		require.NoError(t, err)
		built, err = b.Build(t.Context(), "agent")
		require.NoError(t, err)
		require.False(t, built[0].Fresh)
		after, err := os.Stat(built[0].Archive)
		require.NoError(t, err)
		require.Equal(t, before.ModTime(), after.ModTime(), "nodes see by it that they have it")
	}
	require.True(t, archives[0] == archives[1], "the archives differ")
}

func TestOwnImageFollowsItsSources(t *testing.T) {
	b := builder(t)
	withProgram(t, b, "agent", "package main\n\nfunc main() {}\n")
	_, err := b.Build(t.Context(), "agent")
	require.NoError(t, err)
	withProgram(t, b, "agent", "package main\n\nfunc main() { print(1) }\n")
	built, err := b.Build(t.Context(), "agent")
	require.NoError(t, err)
	require.True(t, built[0].Fresh)
	layers, err := filepath.Glob(filepath.Join(b.Cache, "layers", "*"))
	require.NoError(t, err)
	require.Len(t, layers, 1, "layers of old sources are forgotten")

	b.Tag = "v2"
	built, err = b.Build(t.Context(), "agent")
	require.NoError(t, err)
	require.Equal(t, "docker.io/rollcall-dev/agent:v2", built[0].Images[0].Name)
	require.Equal(t, "agent-v2.tar", filepath.Base(built[0].Archive))
}

func TestAMissingProgramIsNamedAndKeepsNoOtherBack(t *testing.T) {
	b := builder(t)
	withProgram(t, b, "agent", "package main\n\nfunc main() {}\n")
	withProgram(t, b, "coordinator", "package main\n\nfunc main() {}\n")
	built, err := b.Build(t.Context(), "coordinator", "agent")
	require.ErrorIs(t, err, ErrNoPackage)
	require.ErrorContains(t, err, "image coordinator: no such package: ./cmd/rollcall in ")
	require.Len(t, built, 1)

	_, err = b.Build(t.Context(), "postgres")
	require.ErrorContains(t, err, "there are solr, opensearch, opensearch-secured, mysql, mariadb, foundationdb, agent, coordinator")
}

func TestWhatDoesNotCompileIsShown(t *testing.T) {
	b := builder(t)
	withProgram(t, b, "agent", "package main\n\nfunc main() { nonsense() }\n")
	_, err := b.Build(t.Context(), "agent")
	require.ErrorContains(t, err, "undefined: nonsense")
}

func TestLayerIsWholeOrNotThere(t *testing.T) {
	b := builder(t)
	broken := errors.New("broken")
	_, err := b.layer("x", "k", func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return broken
	})
	require.ErrorIs(t, err, broken)
	made := 0
	for range 2 {
		_, err = b.layer("x", "k", func(w io.Writer) error {
			made++
			return archive.WriteLayer(w, archive.File{Path: "f"})
		})
		require.NoError(t, err)
	}
	require.Equal(t, 1, made)
}

func TestOnceFillsAgainUnderAnotherKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	fills := 0
	fill := func(dir string) error {
		fills++
		return os.WriteFile(filepath.Join(dir, time.Now().Format(time.RFC3339Nano)), nil, 0o644)
	}
	for _, key := range []string{"a", "a", "b"} {
		require.NoError(t, once(dir, key, fill))
	}
	require.Equal(t, 2, fills)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1, "nothing of the first filling is left")

	require.Error(t, once(dir, "c", func(string) error { return errors.New("no") }))
	require.NoError(t, once(dir, "b", func(string) error { return errors.New("must not be called") }))
}

func TestKeyOfFilesSeesNamesAndContents(t *testing.T) {
	key := func(name, content string) string {
		dir := filepath.Join(t.TempDir(), "same")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
		k, err := keyOfFiles(dir)
		require.NoError(t, err)
		return k
	}
	require.Equal(t, key("a", "x"), key("a", "x"))
	require.NotEqual(t, key("a", "x"), key("b", "x"))
	require.NotEqual(t, key("a", "x"), key("a", "y"))
}
