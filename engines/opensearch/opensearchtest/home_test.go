package opensearchtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// withJava makes the folder of a Java that says this version.
func withJava(t *testing.T, version string) string {
	home := t.TempDir()
	text := "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\nJAVA_VERSION_DATE=\"2026-01-01\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(home, "release"), []byte(text), 0o644))
	return home
}

func TestChooseJava(t *testing.T) {
	j8, j17, j21, j25 := withJava(t, "1.8.0_402"), withJava(t, "17.0.15"), withJava(t, "21"), withJava(t, "25.0.3")
	none := t.TempDir()
	for _, c := range []struct {
		name, version string
		homes         []string
		want          string
	}{
		{"2.x takes 17", "2.19.6", []string{"", none, j8, j25, j17, j21}, j17},
		{"2.x takes 21", "2.19.6", []string{j25, j21, j17}, j21},
		{"2.x does without 25", "2.19.6", []string{j8, j25}, ""},
		{"3.x takes 21", "3.8.0", []string{j17, j21, j25}, j21},
		{"3.x takes 25", "3.8.0", []string{j8, j17, j25}, j25},
		{"3.x does without 17", "3.8.0", []string{j17}, ""},
		{"none", "3.8.0", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := chooseJava(c.version, c.homes)
			if c.want == "" {
				require.ErrorIs(t, err, errNoJava)
				return
			}
			require.NoError(t, err)
			require.Equal(t, filepath.Join(c.want, "bin", "java"), got)
		})
	}
	require.Zero(t, javaMajor(""))
	require.Zero(t, javaMajor("JAVA_VERSION=\"\"\n"))
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	_, missing := find("", nil)
	require.Contains(t, missing, EnvHome+" is not set")
	home := t.TempDir()
	_, missing = find(home, nil)
	require.Contains(t, missing, "etc: no such file")
	require.NoError(t, os.Mkdir(filepath.Join(home, "etc"), 0o755))
	_, missing = find(home, []string{"9.9.9"})
	require.Contains(t, missing, "9.9.9: no such file")
	got, missing := find(home, nil)
	require.Empty(t, missing)
	require.Equal(t, home, got)
}

func TestRequired(t *testing.T) {
	require.True(t, required("solr,opensearch"))
	require.True(t, required("opensearch"))
	require.False(t, required("opensearchx, solr"))
	require.False(t, required(""))
}
