// Package testbed gives the end-to-end tests and the demo a Kubernetes with the
// images of this checkout in it: the local one of test/cluster, or an existing
// one when CLUSTER=existing.
package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options are the options of a testbed.
type Options struct {
	// Root is the root of the checkout.
	Root string
	// Name is the name of the local cluster, so that a test run does not disturb a demo.
	Name string
	// Log receives progress lines.
	Log io.Writer
}

// Bed is a Kubernetes that is up.
type Bed struct {
	opts       Options
	Kube       kubernetes.Interface
	Config     *rest.Config
	Kubeconfig string
	kubectl    string
}

// Existing reports whether an existing cluster is used instead of the local one.
func Existing() bool { return os.Getenv("CLUSTER") == "existing" }

// Up starts the cluster (or finds it up) and connects to it.
func Up(ctx context.Context, opts Options) (*Bed, error) {
	root, err := filepath.Abs(opts.Root)
	if err != nil {
		return nil, err
	}
	opts.Root = root
	b := &Bed{opts: opts}
	if err := b.program(ctx, opts.Log, "up"); err != nil {
		return nil, fmt.Errorf("cluster up: %w", err)
	}
	var out bytes.Buffer
	if err := b.program(ctx, &out, "kubeconfig"); err != nil {
		return nil, fmt.Errorf("cluster kubeconfig: %w", err)
	}
	b.Kubeconfig = strings.TrimSpace(out.String())
	config, err := clientcmd.BuildConfigFromFlags("", b.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", b.Kubeconfig, err)
	}
	config.QPS, config.Burst = 100, 200
	b.Config = config
	if b.Kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	b.kubectl = "kubectl"
	if !Existing() {
		b.kubectl = filepath.Join(filepath.Dir(b.Kubeconfig), "bin", "kubectl")
	}
	return b, nil
}

// Repair brings back what of the cluster does not run.
func (b *Bed) Repair(ctx context.Context) error { return b.program(ctx, b.opts.Log, "up") }

// RecycleVolumes makes the local volumes whose claims are gone usable again.
func (b *Bed) RecycleVolumes(ctx context.Context) error {
	return b.program(ctx, io.Discard, "up")
}

// Program is the path of a binary that `make build` put into bin/.
func (b *Bed) Program(name string) string { return filepath.Join(b.opts.Root, "bin", name) }

// Path returns the path of a file of the checkout.
func (b *Bed) Path(elem ...string) string {
	return filepath.Join(append([]string{b.opts.Root}, elem...)...)
}

// AuditLog is the API server's, if it is at hand.
func (b *Bed) AuditLog() (file string, ok bool) {
	return filepath.Join(filepath.Dir(b.Kubeconfig), "log", "audit.log"), !Existing()
}

// Down stops the local cluster.
func (b *Bed) Down(ctx context.Context) error { return b.program(ctx, b.opts.Log, "down") }

// Node stops or starts a node of the local cluster by force.
func (b *Bed) Node(ctx context.Context, verb, node string) error {
	return b.program(ctx, b.opts.Log, "node", verb, node)
}

// Load brings image archives into every node.
func (b *Bed) Load(ctx context.Context, archives ...string) error {
	return b.program(ctx, b.opts.Log, append([]string{"load"}, archives...)...)
}

func (b *Bed) program(ctx context.Context, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, b.Program("rollcall-cluster"), append(args, "--name", b.opts.Name)...)
	cmd.Stdout, cmd.Stderr = out, b.opts.Log
	return cmd.Run()
}

// tool runs a program of bin/ with its output in the log.
func (b *Bed) tool(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, b.Program(name), args...)
	cmd.Stdout, cmd.Stderr = b.opts.Log, b.opts.Log
	return cmd.Run()
}

// Logf writes a progress line.
func (b *Bed) Logf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.opts.Log, "%s  "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}

// Kubectl runs kubectl and returns its standard output; its standard error is part of the error.
func (b *Bed) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	return b.run(ctx, stdin, b.kubectl, args...)
}

// Rollcall runs the rollcall CLI against the testbed.
func (b *Bed) Rollcall(ctx context.Context, args ...string) (string, error) {
	return b.run(ctx, "", b.Program("rollcall"), args...)
}

func (b *Bed) run(ctx context.Context, stdin, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.Kubeconfig)
	cmd.Stdin = strings.NewReader(stdin)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out.String(), nil
}

// Helm runs helm.
func (b *Bed) Helm(ctx context.Context, args ...string) error {
	_, err := b.run(ctx, "", b.Program("helm"), args...)
	return err
}

// Apply is kubectl apply of a manifest.
func (b *Bed) Apply(ctx context.Context, manifest string) error {
	_, err := b.Kubectl(ctx, manifest, "apply", "-f", "-")
	return err
}

// ApplyFile is kubectl apply of a file of the checkout.
func (b *Bed) ApplyFile(ctx context.Context, elem ...string) error {
	_, err := b.Kubectl(ctx, "", "apply", "-f", b.Path(elem...))
	return err
}

// Eventually repeats check until it returns nil or the time is up; the error says what was missing
// last. Progress of long waits is logged.
func (b *Bed) Eventually(ctx context.Context, what string, limit time.Duration, check func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	logged := time.Now()
	for {
		if err := check(ctx); err == nil {
			return nil
		} else if !errors.Is(err, context.DeadlineExceeded) || last == nil {
			last = err
		}
		if time.Since(logged) > 20*time.Second {
			b.Logf("waiting for %s: %v", what, last)
			logged = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s: %w", what, limit, last)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// Pause waits, unless ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
