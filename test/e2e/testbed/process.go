package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrNotLocal says that a fault needs the processes of the nodes to run on this machine.
var ErrNotLocal = errors.New("processes of pods can only be killed in the local cluster")

// Kill sends SIGKILL to the processes of a pod (by UID) whose command line
// contains match, and answers how many there were.
func (b *Bed) Kill(podUID, match string) (int, error) {
	if Existing() {
		return 0, ErrNotLocal
	}
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	killed := 0
	for _, dir := range procs {
		// A process that ends while it is looked at is no error: it is gone.
		group, err := os.ReadFile(filepath.Join(dir, "cgroup"))
		if err != nil || !ofPod(string(group), podUID) {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.Contains(strings.ReplaceAll(string(cmdline), "\x00", " "), match) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return killed, err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed == 0 {
		return 0, fmt.Errorf("no process of pod %s matches %q", podUID, match)
	}
	return killed, nil
}

// ofPod knows both spellings of a pod's cgroup: pod<uid> and, under systemd, pod<uid with underscores>.
func ofPod(cgroup, uid string) bool {
	return strings.Contains(cgroup, "pod"+uid) || strings.Contains(cgroup, "pod"+strings.ReplaceAll(uid, "-", "_"))
}
