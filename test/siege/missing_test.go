package siege

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatIsMissingIsAFailure checks that where the siege is required, nothing of it is skipped: it
// fails, and says what it lacks.
func TestWhatIsMissingIsAFailure(t *testing.T) {
	nobody := (*syscall.Credential)(nil)
	if os.Getuid() == 0 {
		nobody = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	program := readable(t)
	for name, c := range map[string]struct {
		test, programs string
		as             *syscall.Credential
		want           string
	}{
		"nobody says where the programs are": {"TestSiege", "", nil, envPrograms + " is not set"},
		"there are no programs":              {"TestSiege", t.TempDir(), nil, "there is no etcd in "},
		"no control group can be made":       {"TestSiegeOfAgent", "/", nobody, "no control group with a memory limit can be made: "},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(require string) (string, error) {
				cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run=^"+c.test+"$")
				cmd.Env = []string{envPrograms + "=" + c.programs, envRequire + "=" + require, "TMPDIR=" + filepath.Dir(program)}
				cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: c.as}
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			out, err := run("solr,siege")
			require.Error(t, err, "%s", out)
			require.Contains(t, out, c.want)
			out, err = run("solr")
			require.NoError(t, err, "%s", out)
			require.Contains(t, out, "NOTHING WAS ATTACKED: ")
			require.Contains(t, out, c.want)
		})
	}
}

// readable is this program where everybody can run it.
func readable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "siege")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777)) // for somebody else
	own, err := os.Executable()
	require.NoError(t, err)
	from, err := os.Open(own)
	require.NoError(t, err)
	defer from.Close()
	file := filepath.Join(dir, "siege.test")
	to, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	require.NoError(t, os.Chmod(file, 0o755)) // as above
	return file
}
