package archive

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func entries(t *testing.T, r io.Reader) map[string]*tar.Header {
	t.Helper()
	out := map[string]*tar.Header{}
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return out
		}
		require.NoError(t, err)
		require.NotContains(t, out, h.Name, "no entry twice")
		out[h.Name] = h
	}
}

func layer(t *testing.T, files ...File) Layer {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteLayer(&b, files...))
	file := filepath.Join(t.TempDir(), "layer.tar")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	l, err := OpenLayer(file)
	require.NoError(t, err)
	return l
}

func TestSameContentSameLayer(t *testing.T) {
	write := func() []byte {
		dir := t.TempDir() // other names and times each turn
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "x"), []byte("x"), 0o640))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "run"), []byte("y"), 0o700))
		var b bytes.Buffer
		require.NoError(t, WriteLayer(&b, File{Path: "/opt/a", From: dir}, File{Path: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777}))
		return b.Bytes()
	}
	one := write()
	require.Equal(t, one, write())

	got := entries(t, bytes.NewReader(one))
	require.Len(t, got, 6)
	require.Equal(t, int64(0o644), got["opt/a/sub/x"].Mode)
	require.Equal(t, int64(0o755), got["opt/a/run"].Mode)
	require.Equal(t, int64(0o1777), got["tmp/"].Mode)
	require.Equal(t, byte(tar.TypeDir), got["opt/"].Typeflag)
	require.True(t, got["opt/a/run"].ModTime.IsZero() || got["opt/a/run"].ModTime.Unix() == 0)
}

func TestWriteSharesLayers(t *testing.T) {
	base := layer(t, File{Path: "base", Content: []byte("b")})
	one := layer(t, File{Path: "one", Content: []byte("1")})
	images := []Image{
		{Name: "r/x:1", Layers: []Layer{base, one}, Config: Config{User: "5"}},
		{Name: "r/x:2", Layers: []Layer{base}, Config: Config{Entrypoint: []string{"/x"}}},
	}
	file := filepath.Join(t.TempDir(), "a.tar")
	var b bytes.Buffer
	require.NoError(t, Write(&b, images...))
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))

	got := entries(t, bytes.NewReader(b.Bytes()))
	require.Len(t, got, 2+2+1, "two layers, two configurations, one manifest")
	tags, err := Tags(file)
	require.NoError(t, err)
	require.Equal(t, []string{"r/x:1", "r/x:2"}, tags)
}

func TestConfigurationNamesTheLayers(t *testing.T) {
	base := layer(t, File{Path: "base", Content: []byte("b")})
	b, err := configuration(Image{Name: "x:1", Layers: []Layer{base}, Config: Config{User: "5:5", Env: []string{"A=1"}}})
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(b, &got))
	require.Equal(t, "linux", got["os"])
	require.Equal(t, map[string]any{"type": "layers", "diff_ids": []any{"sha256:" + base.SHA256}}, got["rootfs"])
	require.Equal(t, map[string]any{"User": "5:5", "Env": []any{"A=1"}}, got["config"])
}

func TestTagsSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, bytes.Repeat([]byte("x"), 2048), 0o644))
	_, err := Tags(text)
	require.ErrorContains(t, err, "not a tar archive")

	empty := filepath.Join(dir, "empty.tar")
	var b bytes.Buffer
	require.NoError(t, WriteLayer(&b, File{Path: "x"}))
	require.NoError(t, os.WriteFile(empty, b.Bytes(), 0o644))
	_, err = Tags(empty)
	require.ErrorContains(t, err, "a docker-archive is expected")
}
