package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errNone means that the kernel does not have Landlock, or has it switched off.
var errNone = errors.New("the kernel has no Landlock")

const (
	// onFiles are the rights that files have, and not directories.
	onFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// first are all rights that the first version knows.
	first = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
)

func become(hidden, program []string) error {
	path, err := exec.LookPath(program[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // it binds the thread, and exec takes over the one that calls it
	if err := restrict(hidden); err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, program, os.Environ()))
}

// restrict restricts this thread and the program that it becomes.
func restrict(hidden []string) error {
	version, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if no != 0 {
		return fmt.Errorf("%w (%w)", errNone, no)
	}
	attr := unix.LandlockRulesetAttr{Access_fs: first}
	for since, right := range map[uintptr]uint64{2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV} {
		if version >= since {
			attr.Access_fs |= right
		}
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	rules, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if no != 0 {
		return fmt.Errorf("make the rules: %w", no)
	}
	defer unix.Close(int(rules))
	away, err := resolved(hidden)
	if err != nil {
		return err
	}
	if err := allowBut(int(rules), attr.Access_fs, "/", away); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if _, _, no := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); no != 0 {
		return fmt.Errorf("apply the rules: %w", no)
	}
	return nil
}

// resolved returns the paths without symbolic links. Paths that do not exist need not be hidden.
func resolved(paths []string) (list []string, err error) {
	for _, path := range paths {
		path, err := filepath.EvalSymlinks(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !filepath.IsAbs(path) || path == "/":
			return nil, fmt.Errorf("%q: must be an absolute path below /", path)
		}
		list = append(list, path)
	}
	return list, nil
}

// allowBut allows all that is in a directory except what is hidden.
func allowBut(rules int, rights uint64, dir string, hidden []string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		within, is := false, false
		for _, h := range hidden {
			within, is = within || strings.HasPrefix(h, path+"/"), is || h == path
		}
		switch {
		case is || entry.Type()&os.ModeSymlink != 0: // where a link leads is allowed there, or not
			continue
		case within:
			err = allowBut(rules, rights, path, hidden)
		default:
			err = allow(rules, rights, path)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func allow(rules int, rights uint64, path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		return fmt.Errorf("stat %s: %w", path, err)
	}
	if is.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= onFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); no != 0 {
		return fmt.Errorf("allow %s: %w", path, no)
	}
	return nil
}
