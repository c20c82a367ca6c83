package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/sim/run"
)

func TestCoursesAreCompared(t *testing.T) {
	defer run.Clean()
	file := filepath.Join(t.TempDir(), "courses.txt")
	c := Courses{From: 1, Seeds: 2, World: "small ones"}
	require.NoError(t, c.record(file))
	var out strings.Builder
	require.NoError(t, c.compare(file, &out))
	require.Equal(t, "2 seeds: 2 the same run, 0 with the same writes at other times, 0 with other writes\n", out.String())

	recorded, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(recorded), " claimed: Restart for Outdated,")
	for name, change := range map[string]struct{ was, is, want string }{
		"another name":  {"for Outdated,", "for OutOfDate,", "  is    "},
		"other writes":  {"evicted by", "deleted by", "deleted by c1\n  is    "},
		"another world": {"small ones", "large ones", ""},
		"no such seed":  {"seed 2 ", "seed 3 ", ""},
		"not a file":    {"seed 1 ", "seeds", ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(recorded), change.was, change.is)), 0o600))
			out.Reset()
			require.Error(t, c.compare(file, &out))
			require.Contains(t, out.String(), change.want)
		})
	}

	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(recorded), "for Outdated,", "for OutOfDate,")), 0o600))
	c.Renamed = pairs("OutOfDate=Outdated")
	require.NoError(t, c.compare(file, &out))
}

func TestCoursesOfOtherTimes(t *testing.T) {
	was, is := course{seed: 1, digest: "a"}, course{seed: 1, digest: "b"}
	was.add("1.000", "db-0 evicted by c1")
	is.add("2.000", "db-0 evicted by c1")
	var n alike
	var out strings.Builder
	n.count(was, is, &out)
	require.Equal(t, alike{retimed: 1}, n)
	require.Empty(t, out.String())
	is.add("3.000", "db-1 evicted by c1")
	n.count(was, is, &out)
	require.Equal(t, alike{retimed: 1, other: 1}, n)
	require.Equal(t, "seed 1, write 1\n  after 2.000 db-0 evicted by c1\n  was   nothing\n  is    3.000 db-1 evicted by c1\n", out.String())
}
