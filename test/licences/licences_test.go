package licences

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// linked is asked once: go list takes seconds.
var linked = sync.OnceValues(func() ([]Module, error) { return Linked(context.Background(), root) })

func TestEveryModuleHasAnAllowedLicence(t *testing.T) {
	modules, err := linked()
	require.NoError(t, err)
	of := map[string][]string{}
	for _, m := range modules {
		of[m.Path] = m.Programs
		if err := m.Judge(); err != nil {
			t.Error(err)
		}
	}
	require.Contains(t, of["github.com/hashicorp/memberlist"], "rollcall-agent")
	require.Contains(t, of["k8s.io/client-go"], "rollcall-coordinator")
	require.Contains(t, of["github.com/inconshreveable/mousetrap"], "rollcall", "it is linked on Windows only")
	require.NotContains(t, of, own)
	require.Len(t, of[Standard], len(Programs))
	for path := range Listed {
		require.Contains(t, of, path, "listed in vain")
	}

	files, err := Files(modules)
	require.NoError(t, err)
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		require.True(t, string(got) == want, "%s is not current: make generate", path)
	}
}

// What the programs themselves say they contain is in the list, too.
func TestWhatProgramsSayIsListed(t *testing.T) {
	modules, err := linked()
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, m := range modules {
		for _, p := range m.Programs {
			listed[p+" "+m.Path+" "+m.Version] = true
		}
	}
	for _, p := range Programs {
		binary := filepath.Join(t.TempDir(), p.Name)
		build := exec.CommandContext(t.Context(), "go", "build", "-tags", "grpcnotrace", "-trimpath", "-o", binary, "./cmd/"+p.Name)
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
		out, err = exec.CommandContext(t.Context(), "go", "version", "-m", binary).Output()
		require.NoError(t, err)
		found := 0
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) >= 3 && f[0] == "dep" {
				found++
				require.True(t, listed[p.Name+" "+f[1]+" "+f[2]], "%s contains %s %s", p.Name, f[1], f[2])
			}
		}
		require.Greater(t, found, 15, p.Name)
	}
}

func TestJudge(t *testing.T) {
	modules, err := linked()
	require.NoError(t, err)
	text := func(path string) string {
		m := modules[slices.IndexFunc(modules, func(m Module) bool { return m.Path == path })]
		return m.Files[0].Text
	}
	mit, mpl := text("github.com/Masterminds/semver/v3"), text("github.com/hashicorp/memberlist")
	const agpl = "This program is free software: you can redistribute it and/or modify it under the terms of the GNU Affero General Public " +
		"License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version."
	for name, c := range map[string]struct {
		path, file, text, problem string
	}{
		"allowed":                         {"example.com/m", "LICENSE", mit, ""},
		"the name of the file is another": {"example.com/m", "copying.txt", mit, ""},
		"listed":                          {"github.com/hashicorp/memberlist", "LICENSE", mpl, ""},
		"listed for another module":       {"example.com/m", "LICENSE", mpl, "example.com/m v1.0.0: MPL-2.0 is not allowed"},
		"not allowed":                     {"example.com/m", "LICENSE", agpl, "example.com/m v1.0.0: AGPL-3.0-or-later is not allowed"},
		"allowed, and something else":     {"example.com/m", "LICENSE", mit + "\n" + agpl, "AGPL-3.0-or-later is not allowed"},
		"unknown":                         {"example.com/m", "LICENSE", "You may use this on Tuesdays only, and never for money or for love.", "example.com/m v1.0.0: LICENSE is no licence known here"},
		"allowed, with conditions":        {"example.com/m", "LICENSE", mit + strings.Repeat("Not to be used on Tuesdays, and never for money. ", 20), "is no licence known here"},
		"a notice is no licence":          {"example.com/m", "NOTICE", mit, "example.com/m v1.0.0: no file with a licence"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Module{Path: c.path, Version: "v1.0.0", Files: []File{{c.file, c.text}}}.Judge()
			if c.problem == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.problem)
			}
		})
	}
}

// Code that was copied into a module has its licence beside it.
func TestLicencesOfCopiedCode(t *testing.T) {
	top := t.TempDir()
	for path, text := range map[string]string{
		"LICENSE": "outer", "third/LICENSE.md": "inner", "third/p/licence.go": "code", "third/p/NOTICE": "note", "other/LICENSE": "not linked",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, filepath.Dir(path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(top, path), []byte(text), 0o600))
	}
	got := map[string]string{}
	require.NoError(t, gather(got, top, filepath.Join(top, "third", "p")))
	require.Equal(t, map[string]string{"LICENSE": "outer", "third/LICENSE.md": "inner", "third/p/NOTICE": "note"}, got)
}
