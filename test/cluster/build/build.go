package build

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/test/cluster/host"
)

// Builder makes components, or finds them made.
type Builder struct {
	Source string                           // the folder that holds one module per component
	Cache  string                           // where results go
	Say    func(format string, args ...any) // tells people what takes time
}

// All makes every component and returns where each program is.
func (b Builder) All(ctx context.Context) (map[string]string, error) {
	tc, err := toolchain(ctx)
	if err != nil {
		return nil, err
	}
	programs := map[string]string{}
	for _, c := range Components() {
		dir, err := b.component(ctx, c, tc)
		if err != nil {
			return nil, err
		}
		for _, name := range c.Programs {
			programs[name] = filepath.Join(dir, name)
		}
	}
	return programs, nil
}

// component makes one component. A folder with its key is complete: it is renamed into place when it is.
func (b Builder) component(ctx context.Context, c Component, tc Toolchain) (string, error) {
	source := filepath.Join(b.Source, c.Name)
	key, err := c.Key(source, tc)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.Cache, key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	// Two clusters that come up at the same time share the cache; the second waits and finds it done.
	unlock, err := host.Lock(ctx, filepath.Join(b.Cache, c.Name+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	version, err := c.PinnedVersion(source)
	if err != nil {
		return "", err
	}
	if err := b.clearAborted(c); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(b.Cache, c.Name+".building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	begin := time.Now()
	b.Say("building %s (once; kept in %s)", strings.TrimSpace(c.Title+" "+version), b.Cache)
	if err := b.goBuild(ctx, c, source, tmp, version); err != nil {
		return "", fmt.Errorf("build %s: %w", c.Title, err)
	}
	if err := rename(c, source, tmp); err != nil {
		return "", fmt.Errorf("build %s: %w", c.Title, err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return "", err
	}
	b.Say("built %s in %s", c.Title, time.Since(begin).Round(time.Second))
	return dir, nil
}

// clearAborted removes what a build left that was killed. The caller holds the component's lock.
func (b Builder) clearAborted(c Component) error {
	left, err := filepath.Glob(filepath.Join(b.Cache, c.Name+".building-*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

func (b Builder) goBuild(ctx context.Context, c Component, source, out, version string) error {
	flags := "-s -w"
	for _, v := range c.Stamp {
		flags += fmt.Sprintf(" -X %s=%s", v, version)
	}
	// -v names each package as it is compiled, which is what progress is counted by.
	args := append([]string{"build", "-v", "-mod=readonly", "-o", out + "/", "-ldflags", flags}, c.packages()...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = source
	cmd.Env = append(environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if c.Static {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	var packages atomic.Int64
	var tail bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			switch l := lines.Text(); {
			case strings.HasPrefix(l, "go: downloading "):
			case strings.ContainsAny(l, " :#"):
				tail.WriteString(l + "\n") // not an import path: an error
			default:
				packages.Add(1)
			}
		}
		_, _ = io.Copy(io.Discard, r)
	}()
	stop := b.progress(c.Title, &packages)
	err := cmd.Run()
	w.Close()
	<-read
	stop()
	if err != nil {
		return errors.Join(err, errors.New(strings.TrimSpace(tail.String())))
	}
	return nil
}

// progress says every few seconds how far a build is, until stopped.
func (b Builder) progress(title string, packages *atomic.Int64) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	begin := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(15 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				b.Say("  still building %s: %s, %d packages compiled", title,
					time.Since(begin).Round(time.Second), packages.Load())
			}
		}
	}()
	return func() { close(done); <-ended }
}

// rename gives the programs the names that the component asks for.
func rename(c Component, source, dir string) error {
	b, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	module := strings.TrimSpace(strings.TrimPrefix(first, "module "))
	for pkg, name := range c.Programs {
		if from := outputName(pkg, module); from != name {
			if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// environ has cgo as the machine has it, however the caller is built: otherwise the same sources
// would be built anew for each way.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CGO_ENABLED=") })
}

func toolchain(ctx context.Context) (Toolchain, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED")
	cmd.Env = environ()
	out, err := cmd.Output()
	if err != nil {
		return Toolchain{}, fmt.Errorf("go is needed to build the cluster and does not run: %w", err)
	}
	f := strings.Fields(string(out))
	if len(f) != 4 {
		return Toolchain{}, fmt.Errorf("go env answered %q", out)
	}
	return Toolchain{f[0], f[1], f[2], f[3]}, nil
}

// Source finds the folder of the components' modules: above or below the working directory, so that the program can be
// run from anywhere in a checkout.
func Source() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		for _, below := range []string{"build", "test/cluster/build"} {
			s := filepath.Join(dir, below)
			if _, err := os.Stat(filepath.Join(s, "kube", "tools.go")); err == nil {
				return s, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no test/cluster/build in %s or above it: run this in a checkout of Rollcall", wd)
		}
	}
}
