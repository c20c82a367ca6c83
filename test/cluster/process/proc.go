package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Proc reads what the kernel says about processes. Root is /proc; tests give their own.
type Proc struct{ Root string }

// BootID changes with every start of the machine, so that start times of different boots are never compared.
func (p Proc) BootID() (string, error) {
	b, err := os.ReadFile(filepath.Join(p.Root, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// StartTime is when the process began, in clock ticks since boot; ok is false when there is no such process or it
// has ended and only waits to be reaped.
func (p Proc) StartTime(pid int) (ticks uint64, ok bool) {
	s, ok := p.stat(pid)
	return s.start, ok && !s.ended()
}

// Ending says that the process has begun to end and is not gone: its first thread has, others still hold its files
// and the ports that it listens on.
func (p Proc) Ending(pid int) bool {
	s, ok := p.stat(pid)
	return ok && s.state == "Z" && !s.ended()
}

// stat is what a line of proc_pid_stat(5) says.
type stat struct {
	state   string
	threads int
	start   uint64 // clock ticks since boot
}

func (s stat) ended() bool { return s.state == "X" || s.state == "Z" && s.threads <= 1 }

func (p Proc) stat(pid int) (stat, bool) {
	b, err := os.ReadFile(filepath.Join(p.Root, strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, false
	}
	// The command name stands in parentheses and may itself hold blanks and parentheses.
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return stat{}, false
	}
	f := strings.Fields(string(b[end+1:]))
	const state, threads, start = 0, 17, 19 // fields 3, 20 and 22
	if len(f) <= start {
		return stat{}, false
	}
	n, err1 := strconv.Atoi(f[threads])
	ticks, err2 := strconv.ParseUint(f[start], 10, 64)
	return stat{f[state], n, ticks}, err1 == nil && err2 == nil
}

// Marked lists the processes whose environment holds the given NAME=value.
func (p Proc) Marked(mark string) ([]int, error) {
	dirs, err := os.ReadDir(p.Root)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join(p.Root, d.Name(), "environ"))
		if err != nil {
			continue // it has ended, or is none of ours
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if string(v) == mark {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids, nil
}

// Executable is the file that the process runs.
func (p Proc) Executable(pid int) string {
	s, err := os.Readlink(filepath.Join(p.Root, strconv.Itoa(pid), "exe"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(s, " (deleted)")
}

// SameNetns reports whether the process lives in the network namespace that the file pins.
func (p Proc) SameNetns(pid int, file string) (bool, error) {
	a, err := os.Stat(filepath.Join(p.Root, strconv.Itoa(pid), "ns/net"))
	if err != nil {
		return false, fmt.Errorf("network namespace of process %d: %w", pid, err)
	}
	b, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("network namespace %s: %w", file, err)
	}
	return os.SameFile(a, b), nil
}
