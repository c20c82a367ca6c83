// Package process starts the daemons of a cluster and ends them again: only those, and also after a crash of the
// program that started them.
//
// A process is known by its pid together with the time it started and the boot it started in, so a pid that the
// kernel has given to somebody else in the meantime is never signalled.
package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"syscall"
	"time"
)

// Spec is a process that should run.
type Spec struct {
	Name   string   // unique in the table, such as "node1/kubelet"
	Argv   []string // Argv[0] is an absolute path
	Env    []string // in addition to the own environment's PATH and HOME
	Netns  string   // file that pins the network namespace to run in; empty means the host's
	Log    string   // file that stdout and stderr are appended to
	Inputs []string // files that the process reads once, at its start: when one changes, it is started again
}

// Entry is a process that was started.
type Entry struct {
	Name        string `json:"name"`
	PID         int    `json:"pid"`
	Start       uint64 `json:"start"` // clock ticks since boot
	Boot        string `json:"boot"`
	Fingerprint string `json:"fingerprint"` // of the Spec and its inputs
}

// Table holds what was started, in a file that is written before anything else happens.
// One program at a time may use it; the caller holds the cluster's lock.
type Table struct {
	file    string
	proc    Proc
	signal  func(pid int, sig syscall.Signal) error
	entries map[string]Entry
}

const (
	// MarkVariable is set in the environment of everything that a table starts, to the table's file. What such a
	// process starts in turn inherits it, unless it clears its environment as a container does.
	MarkVariable = "ROLLCALL_CLUSTER_TABLE"
	nameVariable = "ROLLCALL_CLUSTER_PROCESS"

	maxLog = 64 << 20 // bytes; a longer log is begun again when its process is
)

// Open reads the table; a file that is not there is an empty table.
func Open(file string) (*Table, error) {
	t := &Table{file: file, proc: Proc{Root: "/proc"}, signal: syscall.Kill, entries: map[string]Entry{}}
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read process table: %w", err)
	}
	if err := json.Unmarshal(b, &t.entries); err != nil {
		return nil, fmt.Errorf("process table %s: %w", file, err)
	}
	return t, nil
}

// Names lists what was started and not yet stopped, sorted.
func (t *Table) Names() []string {
	var names []string
	for n := range t.entries {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Alive gives the pid of the named process if that very process still runs.
func (t *Table) Alive(name string) (pid int, ok bool) {
	e, ok := t.entries[name]
	if !ok || !t.same(e) {
		return 0, false
	}
	return e.PID, true
}

func (t *Table) same(e Entry) bool {
	boot, err := t.proc.BootID()
	if err != nil || boot != e.Boot {
		return false
	}
	start, ok := t.proc.StartTime(e.PID)
	return ok && start == e.Start
}

// Ensure starts the process unless it already runs just so. One that runs with other arguments, with inputs that
// have changed, or in a network namespace that is no longer the right one, is ended first, and one that is about to
// end is waited for.
func (t *Table) Ensure(ctx context.Context, s Spec) (started bool, err error) {
	print, err := s.fingerprint()
	if err != nil {
		return false, err
	}
	if pid, ok := t.Alive(s.Name); ok {
		fits := t.entries[s.Name].Fingerprint == print && !t.proc.Ending(pid)
		if fits && s.Netns != "" {
			if fits, err = t.proc.SameNetns(pid, s.Netns); err != nil {
				return false, err
			}
		}
		if fits {
			return false, nil
		}
		if err := t.Stop(ctx, s.Name, 10*time.Second); err != nil {
			return false, err
		}
	}
	if err := t.endStrays(ctx, s); err != nil {
		return false, err
	}
	return true, t.start(s, print)
}

// endStrays ends a process that an earlier program started but did not live to record.
func (t *Table) endStrays(ctx context.Context, s Spec) error {
	pids, err := t.proc.Marked(nameVariable + "=" + t.nameMark(s.Name))
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if t.proc.Executable(pid) != s.Argv[0] {
			continue // a child of the process that has its own name and life, such as a containerd shim
		}
		if err := t.endPID(ctx, pid, 0); err != nil {
			return fmt.Errorf("end a left-over %s: %w", s.Name, err)
		}
	}
	return nil
}

func (t *Table) nameMark(name string) string { return t.file + "#" + name }

func (t *Table) start(s Spec, print string) error {
	if err := os.MkdirAll(filepath.Dir(s.Log), 0o755); err != nil {
		return err
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if st, err := os.Stat(s.Log); err == nil && st.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	log, err := os.OpenFile(s.Log, flags, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	defer log.Close()
	argv := s.Argv
	if s.Netns != "" {
		argv = append([]string{"nsenter", "--net=" + s.Netns, "--"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		MarkVariable + "=" + t.file, nameVariable + "=" + t.nameMark(s.Name),
	}, s.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C for us is not one for the cluster
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	pid := cmd.Process.Pid
	startTime, ok := t.proc.StartTime(pid)
	go func() { _ = cmd.Wait() }() // reaps it if it ends while we live; afterwards init does
	if !ok {
		return fmt.Errorf("start %s: it ended at once; its log is %s", s.Name, s.Log)
	}
	boot, err := t.proc.BootID()
	if err != nil {
		return err
	}
	t.entries[s.Name] = Entry{s.Name, pid, startTime, boot, print}
	return t.save()
}

// Stop asks the process to end, and ends it when it has not after the grace period; zero asks nothing and kills.
// Stopping what does not run only forgets it.
func (t *Table) Stop(ctx context.Context, name string, grace time.Duration) error {
	e, ok := t.entries[name]
	if !ok {
		return nil
	}
	if t.same(e) {
		if err := t.endPID(ctx, e.PID, grace); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
	}
	delete(t.entries, name)
	return t.save()
}

// KillMarked ends everything that processes of this table have started and left behind, if match agrees.
func (t *Table) KillMarked(ctx context.Context, match func(executable, environment string) bool) error {
	pids, err := t.proc.Marked(MarkVariable + "=" + t.file)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		env, _ := os.ReadFile(filepath.Join(t.proc.Root, fmt.Sprint(pid), "environ"))
		if pid == os.Getpid() || !match(t.proc.Executable(pid), string(env)) {
			continue
		}
		if err := t.endPID(ctx, pid, 0); err != nil {
			return err
		}
	}
	return nil
}

// OwnedBy matches, for KillMarked, what the named process has started.
func (t *Table) OwnedBy(name string) string { return nameVariable + "=" + t.nameMark(name) + "\x00" }

// endPID ends one process whose identity the caller has just checked. It watches the start time, so that it neither
// waits for nor signals a successor of the same number.
func (t *Table) endPID(ctx context.Context, pid int, grace time.Duration) error {
	start, ok := t.proc.StartTime(pid)
	if !ok {
		return nil
	}
	gone := func() bool {
		now, ok := t.proc.StartTime(pid)
		return !ok || now != start
	}
	if grace > 0 {
		if err := t.signal(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		if wait(ctx, grace, gone) == nil {
			return nil
		}
	}
	if gone() {
		return nil
	}
	if err := t.signal(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	if err := wait(ctx, 10*time.Second, gone); err != nil {
		return fmt.Errorf("process %d does not end: %w", pid, err)
	}
	return nil
}

func wait(ctx context.Context, limit time.Duration, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

func (s Spec) fingerprint() (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(s); err != nil {
		return "", err
	}
	for _, in := range s.Inputs {
		f, err := os.Open(in)
		if err != nil {
			return "", fmt.Errorf("input of %s: %w", s.Name, err)
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", fmt.Errorf("input of %s: %w", s.Name, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (t *Table) save() error {
	b, err := json.MarshalIndent(t.entries, "", " ")
	if err != nil {
		return err
	}
	next := t.file + ".next"
	if err := os.WriteFile(next, b, 0o644); err != nil {
		return fmt.Errorf("write process table: %w", err)
	}
	return os.Rename(next, t.file)
}
