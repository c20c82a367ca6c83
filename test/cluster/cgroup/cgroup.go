// Package cgroup makes, empties and removes the control groups that the nodes' containers live in, for version 1 of
// the kernel's interface (one tree per controller), version 2 (one tree), and both at once.
package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Tree is one mounted hierarchy.
type Tree struct {
	Path    string
	Unified bool // version 2
}

// Trees reads the mounted hierarchies out of a mountinfo file (proc_pid_mountinfo(5)).
func Trees(mountinfo io.Reader) ([]Tree, error) {
	var trees []Tree
	lines := bufio.NewScanner(mountinfo)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 1 {
			continue
		}
		if g[0] == "cgroup" || g[0] == "cgroup2" {
			trees = append(trees, Tree{Path: f[4], Unified: g[0] == "cgroup2"})
		}
	}
	return trees, lines.Err()
}

// Mounted gives the hierarchies of this machine.
func Mounted() ([]Tree, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	trees, err := Trees(f)
	if err == nil && len(trees) == 0 {
		err = errors.New("no cgroup hierarchy is mounted: kubelet cannot run here")
	}
	return trees, err
}

// Make makes the group in every hierarchy, ready for kubelet.
func Make(trees []Tree, name string) error {
	for _, t := range trees {
		dir := filepath.Join(t.Path, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make cgroup: %w", err)
		}
		if t.Unified && len(trees) == 1 {
			if err := delegate(t.Path); err != nil {
				return err
			}
			if err := delegate(dir); err != nil {
				return err
			}
		}
		if !t.Unified {
			// A new cpuset is empty, and then nothing can be put into it.
			for _, f := range []string{"cpuset.mems", "cpuset.cpus"} {
				if err := inherit(filepath.Join(t.Path, f), filepath.Join(dir, f)); err != nil {
					return fmt.Errorf("set up cpuset: %w", err)
				}
			}
		}
	}
	return nil
}

// delegate hands all controllers of a version 2 group on to the groups below it.
func delegate(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for c := range strings.FieldsSeq(string(b)) {
		err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0o644)
		if errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("cgroup %s holds processes itself, so its controller %q cannot be handed on; "+
				"run on the host or in a container with its own cgroup namespace and an empty root", dir, c)
		}
		if err != nil && slices.Contains([]string{"cpu", "memory", "pids", "cpuset"}, c) {
			return fmt.Errorf("hand on cgroup controller %s in %s: %w", c, dir, err)
		}
	}
	return nil
}

func inherit(from, to string) error {
	b, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not the cpuset hierarchy
	}
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(to); err == nil && len(strings.TrimSpace(string(have))) > 0 {
		return nil
	}
	return os.WriteFile(to, b, 0o644)
}

// Processes lists every process in the group and the groups below it.
func Processes(trees []Tree, name string) ([]int, error) {
	seen := map[int]bool{}
	for _, t := range trees {
		err := walk(filepath.Join(t.Path, name), func(dir string) error {
			b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			if err != nil {
				return nil //nolint:nilerr // the group has just gone
			}
			for f := range strings.FieldsSeq(string(b)) {
				if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
					seen[pid] = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var pids []int
	for pid := range seen {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids, nil
}

// Kill ends everything in the group. A process cannot leave it, so what it lists is what was started in it.
func Kill(ctx context.Context, trees []Tree, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		pids, err := Processes(trees, name)
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes %v in cgroup %s do not end: %w", pids, name, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Remove removes the group and all below it, in every hierarchy. It must be empty.
func Remove(trees []Tree, name string) error {
	var errs []error
	for _, t := range trees {
		var dirs []string
		errs = append(errs, walk(filepath.Join(t.Path, name), func(dir string) error {
			dirs = append(dirs, dir)
			return nil
		}))
		slices.Reverse(dirs) // children before parents
		for _, d := range dirs {
			errs = append(errs, removeDir(d))
		}
	}
	return errors.Join(errs...)
}

// removeDir retries shortly: the kernel takes a moment to let go of a group whose last process has just ended.
func removeDir(dir string) error {
	var err error
	for range 50 {
		err = os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

func walk(root string, visit func(dir string) error) error {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return visit(path)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
