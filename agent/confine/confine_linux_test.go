package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// token is in the environment of the agent.
const token = "ROLLCALL_STOP_TOKEN"

// TestMain is the program that is started again. The tests run as a user without capabilities, as
// an agent does, and with a secret in the environment they were started with.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == Command:
		fmt.Fprintln(os.Stderr, Run(os.Args[2:]))
		os.Exit(1)
	case os.Getenv(token) != "":
		os.Exit(m.Run())
	}
	code, err := asAgent()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func asAgent() (int, error) {
	dir, err := os.MkdirTemp("", "confine")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return 0, err
	}
	program := filepath.Join(dir, "test")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(program, self, 0o755)); err != nil {
		return 0, err
	}
	// What go test keeps there is another user's.
	args := slices.DeleteFunc(os.Args[1:], func(arg string) bool { return strings.HasPrefix(arg, "-test.testlogfile") })
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), token+"=hunter2")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return ended.ExitCode(), nil
	}
	return 0, err
}

func prefix(t *testing.T, hidden ...string) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	list := Prefix(self, hidden...)
	if err := Try(list, "/bin/true"); err != nil {
		require.ErrorContains(t, err, errNone.Error())
		t.Skip(err)
	}
	return list
}

// A real child process that tries to get at what is hidden, by each way that there is.
func TestHiddenFilesAreOutOfReach(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	secret, other := filepath.Join(dir, "secret"), filepath.Join(dir, "other")
	// As the kubelet mounts a Secret.
	require.NoError(t, os.MkdirAll(filepath.Join(secret, "..2026"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(secret, "..2026", "tls.key"), []byte("hunter2"), 0o444))
	require.NoError(t, os.Symlink("..2026", filepath.Join(secret, "..data")))
	require.NoError(t, os.Symlink("..data/tls.key", filepath.Join(secret, "tls.key")))
	require.NoError(t, os.Mkdir(other, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(other, "fdb.cluster"), []byte("readable "), 0o644))
	require.NoError(t, os.Symlink(secret, filepath.Join(other, "link")))

	script := `
cat SECRET/tls.key SECRET/..2026/tls.key OTHER/link/tls.key OTHER/../secret/tls.key
ls SECRET; echo x > SECRET/new; ln SECRET/..2026/tls.key OTHER/hard; cat OTHER/hard
mv SECRET OTHER/moved; cat OTHER/moved/tls.key
cat /proc/AGENT/environ /proc/AGENT/rootSECRET/tls.key /proc/AGENT/cwd/x /proc/self/rootSECRET/tls.key
ls -l /proc/AGENT/fd
bash -c 'cat SECRET/tls.key'
cat OTHER/fdb.cluster; echo kept > OTHER/fdb.cluster && echo written; mv OTHER/fdb.cluster OTHER/b && echo renamed
echo ok > /dev/null && head -c 1 /dev/urandom > /dev/null && cat /etc/passwd > /dev/null && cat /proc/self/status > /dev/null && echo device
`
	script = strings.NewReplacer("SECRET", secret, "OTHER", other, "AGENT", strconv.Itoa(os.Getpid())).Replace(script)
	args := append(prefix(t, secret, filepath.Join(dir, "not-there")), "/bin/bash", "-c", script)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, _ := cmd.CombinedOutput()
	require.NotContains(t, string(out), "hunter2")
	require.NoFileExists(t, filepath.Join(secret, "new"))
	require.Contains(t, string(out), "readable written\nrenamed\ndevice\n", "all else goes on")

	open, err := exec.CommandContext(t.Context(), "/bin/bash", "-c", script).CombinedOutput()
	require.NoError(t, err, string(open))
	require.Contains(t, string(open), "hunter2", "without it that is what the child reads")
}

// Where the kernel knows how, the child cannot end who has started it either.
func TestTheStarterGetsNoSignal(t *testing.T) {
	list := prefix(t, t.TempDir())
	version, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if version < 6 {
		t.Skip("not before Landlock 6")
	}
	args := append(list, "/bin/bash", "-c", fmt.Sprintf("kill -0 %d && echo could; sleep 9 & kill $! && echo own", os.Getpid()))
	out, _ := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	require.NotContains(t, string(out), "could")
	require.Contains(t, string(out), "own")
}

func TestWhatCannotBeConfinedIsNotStarted(t *testing.T) {
	for _, args := range [][]string{nil, {"/a"}, {"/a", "--"}} {
		require.ErrorContains(t, Run(args), "requires paths, --, and a program")
	}
	list := prefix(t)
	require.ErrorContains(t, Try(list, "/no/such/program"), "no such file")
	require.Error(t, Try(Prefix(list[0], "/"), "/bin/true"), "nothing would be left")
	_, err := resolved([]string{"."})
	require.Error(t, err)
	require.ErrorIs(t, fmt.Errorf("%w (%w)", errNone, unix.ENOSYS), errNone)
}
