package siege

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// group is a control group with a memory limit, in either version of the kernel's interface.
type group struct {
	dir     string
	unified bool // version 2
}

// makeGroup makes one below the root of the hierarchy that has the memory controller.
func makeGroup(name string, limit int64) (*group, error) {
	root, unified, err := memoryHierarchy()
	if err != nil {
		return nil, err
	}
	if unified {
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory"), 0o644); err != nil {
			return nil, fmt.Errorf("the memory controller of %s cannot be handed on (where that holds processes itself, run on the host, "+
				"or in a container with its own cgroup namespace and an empty root): %w", root, err)
		}
	}
	g := &group{dir: filepath.Join(root, name), unified: unified}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	// As kubelet and runc do: no swap beside it.
	bound, without := []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"}, limit
	if unified {
		bound, without = []string{"memory.max", "memory.swap.max"}, 0
	}
	if err := g.write(bound[0], limit); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	if err := g.write(bound[1], without); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// memoryHierarchy finds the memory controller: version 1 where it is mounted, else version 2.
func memoryHierarchy() (root string, unified bool, err error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		mount, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 5 || len(kind) < 3 {
			continue
		}
		switch {
		case kind[0] == "cgroup" && strings.Contains(","+kind[2]+",", ",memory,"):
			return mount[4], false, nil
		case kind[0] == "cgroup2":
			controllers, _ := os.ReadFile(filepath.Join(mount[4], "cgroup.controllers"))
			if strings.Contains(" "+strings.TrimSpace(string(controllers))+" ", " memory ") {
				root = mount[4]
			}
		}
	}
	if root == "" {
		return "", false, errors.New("no mounted control group hierarchy has the memory controller")
	}
	return root, true, lines.Err()
}

func (g *group) write(file string, value int64) error {
	f, err := os.OpenFile(filepath.Join(g.dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.FormatInt(value, 10))
	return errors.Join(err, f.Close())
}

// enter is the command line that runs another one inside the group, under the same process id.
func (g *group) enter(argv ...string) []string {
	return append([]string{"/bin/sh", "-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs")}, argv...)
}

// used is what is used now, page cache and the kernel's share included.
func (g *group) used() int64 { return g.number("memory.usage_in_bytes", "memory.current") }

// peak is the most that was ever used; 0 where the kernel does not keep it.
func (g *group) peak() int64 { return g.number("memory.max_usage_in_bytes", "memory.peak") }

// restart forgets the peak, where the kernel can; it has a new one to be seen then.
func (g *group) restart() { _ = g.write("memory.max_usage_in_bytes", 0) }

func (g *group) number(v1, v2 string) int64 {
	text, _ := os.ReadFile(filepath.Join(g.dir, map[bool]string{false: v1, true: v2}[g.unified]))
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// kills is how many processes the kernel ended because of the limit.
func (g *group) kills() int {
	text, _ := os.ReadFile(filepath.Join(g.dir, map[bool]string{false: "memory.oom_control", true: "memory.events"}[g.unified]))
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(count))
			return n
		}
	}
	return 0
}

// remove retries: the kernel takes a moment to let go of the last process.
func (g *group) remove() error {
	var err error
	for range 100 {
		if err = os.Remove(g.dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
