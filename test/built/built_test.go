// Package built holds what the programs and their bills of materials must be like
// however they are built.
package built

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/race"
)

var programs = []string{"rollcall", "rollcall-agent", "rollcall-coordinator"}

// checkout copies the sources, as git knows them, to dir, all with one mode and one time.
func checkout(ctx context.Context, dir string, mode os.FileMode, at time.Time) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join("../..", name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and not committed
		} else if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, content, mode), os.Chtimes(to, at, at)); err != nil {
			return err
		}
	}
	return nil
}

// build runs the Makefile's own recipe there.
func build(ctx context.Context, dir, umask string, env ...string) error {
	script := "umask " + umask + " && make VERSION=v1.2.3"
	for _, p := range programs {
		script += " bin/" + p
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make in %s: %w: %s", dir, err, out)
	}
	return nil
}

var parent string

func TestMain(m *testing.M) {
	var err error
	if parent, err = os.MkdirTemp("", "rollcall-built-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(parent)
	os.Exit(code)
}

var first = sync.OnceValues(func() (string, error) {
	dir, ctx := filepath.Join(parent, "first"), context.Background()
	return dir, errors.Join(checkout(ctx, dir, 0o644, time.Now()), build(ctx, dir, "022"))
})

// The build cache may be shared: with -trimpath a package is known by what it is made of,
// and if a path, a time or a mode came into that, or into the program when it is linked,
// the second program would be another.
func TestTheSameSourcesGiveTheSamePrograms(t *testing.T) {
	race.Night(t)
	one, err := first()
	require.NoError(t, err)
	two := filepath.Join(parent, "elsewhere", "and with a longer name")
	require.NoError(t, checkout(t.Context(), two, 0o600, time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)))
	git := exec.CommandContext(t.Context(), "git", "init", "-q", two)
	require.NoError(t, git.Run(), "a repository has no other programs than an unpacked archive")
	require.NoError(t, build(t.Context(), two, "077", "GOFLAGS=-buildvcs=true", "HOME="+os.Getenv("HOME"), "TZ=Asia/Tokyo", "LC_ALL=C", "USER=somebody"))
	for _, p := range programs {
		a, err := os.ReadFile(filepath.Join(one, "bin", p))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(two, "bin", p))
		require.NoError(t, err)
		require.NotEmpty(t, a)
		require.True(t, string(a) == string(b), "%s is another when it is built in another folder", p)
		require.NotContains(t, string(a), parent, "%s tells where it was built", p)
	}
}

func TestBillsOfMaterialsListWhatIsLinkedIn(t *testing.T) {
	race.Night(t)
	dir, err := first()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "make", "sbom", "VERSION=v1.2.3")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, p := range programs {
		info, err := buildinfo.ReadFile(filepath.Join(dir, "bin", p))
		require.NoError(t, err)
		want := map[string]bool{}
		for _, m := range info.Deps {
			want[m.Path+" "+m.Version] = true
		}
		require.Greater(t, len(want), 15, p)

		var bill struct {
			BOMFormat string
			Metadata  struct {
				Component struct{ Name, Version string }
			}
			Components []struct{ Name, Version, PURL string }
		}
		text, err := os.ReadFile(filepath.Join(dir, "bin", p+".cdx.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &bill))
		require.Equal(t, "CycloneDX", bill.BOMFormat)
		require.Equal(t, "github.com/rollcall-dev/rollcall", bill.Metadata.Component.Name)
		require.Equal(t, "v1.2.3", bill.Metadata.Component.Version)
		got := map[string]bool{}
		for _, c := range bill.Components {
			if c.Name == "std" { // of Go itself, which is no module
				continue
			}
			require.True(t, strings.HasPrefix(c.PURL, "pkg:golang/"), "%s of %s", c.PURL, p)
			got[c.Name+" "+c.Version] = true
		}
		require.Equal(t, want, got, p)
	}
}
