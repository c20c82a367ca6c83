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
var ErrNotLocal = errors.New("processes of pods can only be reached in the local cluster")

// Kill sends SIGKILL to the processes of a pod (by UID) whose command line contains match, and
// returns how many there were.
func (b *Bed) Kill(podUID, match string) (int, error) {
	return b.Signal(podUID, match, syscall.SIGKILL)
}

// Signal is Kill with another signal.
func (b *Bed) Signal(podUID, match string, sig syscall.Signal) (int, error) {
	n, err := signal(sig, func(cgroup, cmdline string) bool { return ofPod(cgroup, podUID) && strings.Contains(cmdline, match) })
	if err == nil && n == 0 {
		err = fmt.Errorf("no process of pod %s matches %q", podUID, match)
	}
	return n, err
}

// StopAPIServer sends SIGKILL to the API server; Repair brings it back.
func (b *Bed) StopAPIServer() error {
	log, _ := b.AuditLog()
	n, err := signal(syscall.SIGKILL, func(_, cmdline string) bool { return strings.Contains(cmdline, "--audit-log-path="+log) })
	if err == nil && n == 0 {
		err = errors.New("no API server of the cluster runs")
	}
	return err
}

// Process is one of a pod whose command line contains match.
func (b *Bed) Process(podUID, match string) (pid int, err error) {
	pids, err := processes(func(cgroup, cmdline string) bool { return ofPod(cgroup, podUID) && strings.Contains(cmdline, match) })
	if err == nil && len(pids) == 0 {
		err = fmt.Errorf("no process of pod %s matches %q", podUID, match)
	}
	if err != nil {
		return 0, err
	}
	return pids[0], nil
}

// signal reaches the processes of this machine that match.
func signal(sig syscall.Signal, match func(cgroup, cmdline string) bool) (reached int, err error) {
	pids, err := processes(match)
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err == nil {
			reached++
		}
	}
	return reached, nil
}

// processes returns the processes of this machine that match.
func processes(match func(cgroup, cmdline string) bool) (pids []int, err error) {
	if Existing() {
		return nil, ErrNotLocal
	}
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, dir := range procs {
		// A process that ends while it is looked at is no error: it is gone.
		group, err1 := os.ReadFile(filepath.Join(dir, "cgroup"))
		cmdline, err2 := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err1 != nil || err2 != nil || !match(string(group), strings.ReplaceAll(string(cmdline), "\x00", " ")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// ofPod knows both spellings of a pod's cgroup: pod<uid> and, under systemd, pod<uid with underscores>.
func ofPod(cgroup, uid string) bool {
	return strings.Contains(cgroup, "pod"+uid) || strings.Contains(cgroup, "pod"+strings.ReplaceAll(uid, "-", "_"))
}
