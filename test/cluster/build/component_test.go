package build

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutputName(t *testing.T) {
	for pkg, want := range map[string]string{
		"go.etcd.io/etcd/server/v3":       "server",
		"k8s.io/kubernetes/cmd/kubelet":   "kubelet",
		".":                               "dns",
		"example.com/containerd/v2/cmd/x": "x",
	} {
		require.Equal(t, want, outputName(pkg, "example.com/build/dns"), pkg)
	}
}

func TestKeyFollowsEverythingThatMatters(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	write("go.mod", "module x\n\nrequire example.com/m v1.2.3\n")
	write("go.sum", "a")
	write("main.go", "package main")
	c := Component{Name: "x", Version: "example.com/m", Programs: map[string]string{"p": "q"}}
	tc := Toolchain{"go1", "linux", "amd64", "1"}
	key := func() string {
		k, err := c.Key(dir, tc)
		require.NoError(t, err)
		return k
	}
	seen := map[string]bool{key(): true}
	changed := func(what string) {
		t.Helper()
		k := key()
		require.False(t, seen[k], "%s does not change the key", what)
		seen[k] = true
	}
	write("go.sum", "b")
	changed("go.sum")
	write("main.go", "package main // x")
	changed("a source file")
	c.Programs = map[string]string{"p": "r"}
	changed("a program's name")
	c.Stamp = []string{"v"}
	changed("a linker flag")
	tc.Version = "go2"
	changed("the toolchain")
	tc.CGO = "0"
	changed("cgo")
	before := key()
	write("README.md", "text")
	require.Equal(t, before, key(), "a text file does not matter")
}

func TestVersionsArePinned(t *testing.T) {
	for _, c := range Components() {
		v, err := c.PinnedVersion(c.Name)
		require.NoError(t, err)
		if c.Version != "" {
			require.Regexp(t, `^v\d+\.\d+\.\d+`, v, c.Name)
			require.FileExists(t, filepath.Join(c.Name, "go.sum"))
		}
	}
	_, err := Component{Title: "t", Version: "example.com/none"}.PinnedVersion("dns")
	require.ErrorContains(t, err, "no requirement of example.com/none")
}

func TestProgramsHaveOneNameEach(t *testing.T) {
	seen := map[string]string{}
	for _, c := range Components() {
		for _, name := range c.Programs {
			require.Empty(t, seen[name])
			seen[name] = c.Name
		}
	}
}

func TestSourceIsFoundFromWithin(t *testing.T) {
	s, err := Source()
	require.NoError(t, err)
	require.Equal(t, "build", filepath.Base(s))
	t.Chdir(t.TempDir())
	_, err = Source()
	require.ErrorContains(t, err, "run this in a checkout")
}

func TestTheCallersCgoChangesNothing(t *testing.T) {
	t.Setenv("CGO_ENABLED", "0")
	one, err := toolchain(t.Context())
	require.NoError(t, err)
	t.Setenv("CGO_ENABLED", "1")
	other, err := toolchain(t.Context())
	require.NoError(t, err)
	require.Equal(t, one, other)
}
