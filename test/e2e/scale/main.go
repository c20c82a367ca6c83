// Command scale measures what coordinators cost beside 10,000 pods of 100 database clusters: a real etcd, API server,
// controllers and coordinators, kubelets that kwok plays, and agents that this program plays over the real protocol with
// the certificates that the coordinator makes. Gossip is not played; agent/gossip measures that in virtual time.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed kubelets.yaml
var kubelets []byte

// kwokAt is where kwok tells of its health.
const kwokAt = "127.0.0.1:17947"

// memoryLimit is that of a Deployment for so many pods (deploy/docs/results.md).
const memoryLimit = "1GiB"

var begin = time.Now()

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%7.1fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
}

type options struct {
	name, pods, dir      string
	clusters, size, part int
	all                  bool
	idle                 time.Duration
	keep                 bool
}

func main() {
	var o options
	flag.StringVar(&o.name, "name", "scale", "name of the local cluster")
	flag.StringVar(&o.pods, "pod-net", "10.250.0.0/16", "addresses of pods; all of them are this machine's while the run lasts")
	flag.StringVar(&o.dir, "dir", "", "where logs go (default: a new temporary folder)")
	flag.IntVar(&o.clusters, "clusters", 100, "database clusters")
	flag.IntVar(&o.size, "size", 100, "pods of each")
	flag.IntVar(&o.part, "roll", 10, "clusters that a change rolls through at once")
	flag.BoolVar(&o.all, "all", false, "then also through all of them at once")
	flag.DurationVar(&o.idle, "idle", 3*time.Minute, "how long to look at coordinators that have nothing to do")
	flag.BoolVar(&o.keep, "keep", false, "leave the API server running")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// stage is everything that a run has started.
type stage struct {
	options
	world *world
	logs  string // of the API server
	bin   string
	login string // kubeconfig of the coordinators' account
	kwok  *process
	both  [2]*process // coordinators; nil = stopped
	table table
}

func run(ctx context.Context, o options) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "rollcall-scale-"); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	s := &stage{options: o, bin: "bin"}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		err = errors.Join(err, s.down())
	}()
	if err := s.up(ctx); err != nil {
		return err
	}
	for _, measure := range []func(context.Context) error{s.fill, s.resting, s.rolling, s.handovers, s.rollingAll} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	if err := s.table.write(os.Stdout); err != nil {
		return err
	}
	if len(s.table.misses) > 0 {
		return fmt.Errorf("bars that were not reached:\n  %s", strings.Join(s.table.misses, "\n  "))
	}
	return nil
}

// up starts the control plane, the kubelets and the agents.
func (s *stage) up(ctx context.Context) error {
	cluster := func(args ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, filepath.Join(s.bin, "rollcall-cluster"), append(args, "--name", s.name)...)
		command.Stderr = os.Stderr
		return command.Output()
	}
	if _, err := cluster("up", "--bare"); err != nil {
		return fmt.Errorf("the control plane: %w", err)
	}
	file, err := cluster("kubeconfig")
	if err != nil {
		return err
	}
	kubectl, err := cluster("kubectl")
	if err != nil {
		return err
	}
	kubeconfig := strings.TrimSpace(string(file))
	s.logs = filepath.Join(filepath.Dir(kubeconfig), "log")
	if s.world, err = newWorld(kubeconfig, strings.TrimSpace(string(kubectl))); err != nil {
		return err
	}
	if err := route(ctx, "replace", s.pods); err != nil {
		return err
	}
	stages := filepath.Join(s.dir, "kubelets.yaml")
	if err := os.WriteFile(stages, kubelets, 0o644); err != nil {
		return err
	}
	// One that somebody has started already is left alone: kwok takes its nodes over from a predecessor only after minutes.
	if response, err := http.Get("http://" + kwokAt + "/healthz"); err == nil {
		response.Body.Close()
	} else if s.kwok, err = start(s.dir, "kwok", filepath.Join(s.bin, "kwok"), nil, "--kubeconfig", kubeconfig, "--config", stages,
		// Leases are renewed four times in their duration; nodes of which none was for 50 s would be taken for lost, and their pods
		// would not become Ready again.
		"--manage-all-nodes", "--cidr", s.pods, "--node-ip", "10.249.0.1", "--node-lease-duration-seconds", "60", "--server-address", kwokAt); err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join("deploy", "manifests", "rollcall.yaml"))
	if err != nil {
		return fmt.Errorf("run this from the root of the repository: %w", err)
	}
	if err := s.world.install(ctx, manifest); err != nil {
		return err
	}
	host := strings.TrimPrefix(s.world.config.Host, "https://")
	if err := s.world.webhook(ctx, host[:strings.LastIndexByte(host, ':')], []int32{19443, 19543}); err != nil {
		return err
	}
	s.login = filepath.Join(s.dir, "coordinator.kubeconfig")
	if err := s.world.login(ctx, s.login); err != nil {
		return err
	}
	go func() {
		if err := s.world.agents.serve(ctx); err != nil {
			say("the agents: %v", err)
		}
	}()
	return nil
}

// coordinator starts one of the two.
func (s *stage) coordinator(i int) error {
	at := func(port int) string { return fmt.Sprintf(":%d", port+100*i) }
	name := fmt.Sprintf("coordinator-%c", 'a'+i)
	p, err := start(s.dir, fmt.Sprintf("%s-%d", name, time.Now().Unix()), filepath.Join(s.bin, "rollcall-coordinator"), []string{"GOMEMLIMIT=" + memoryLimit},
		"--kubeconfig", s.login, "--agent-image", "agent:dev", "--identity", name,
		"--grpc-addr", at(17950), "--http-addr", at(17951), "--page-addr", at(17952), "--webhook-addr", at(19443))
	if err != nil {
		return err
	}
	p.metrics = fmt.Sprintf("127.0.0.1:%d", 17951+100*i)
	s.both[i] = p
	return nil
}

// fill makes the clusters and waits until all pods are ready and the coordinators have nothing to do.
func (s *stage) fill(ctx context.Context) error {
	if err := s.world.nodes(ctx, s.clusters*s.size+plainPods); err != nil {
		return err
	}
	say("making %d clusters of %d pods", s.clusters, s.size)
	from := time.Now()
	for i := range s.clusters {
		if err := s.world.cluster(ctx, namespaceOf(i), s.size); err != nil {
			return err
		}
	}
	if err := s.world.follow(ctx); err != nil {
		return err
	}
	for i := range s.both {
		if err := s.coordinator(i); err != nil {
			return err
		}
	}
	if err := until(ctx, 2*time.Minute, "a coordinator leads", func() bool { return s.leader(ctx) >= 0 }); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // the coordinators' webhook is to know the clusters before their pods are made
	for i := range s.clusters {
		if err := s.world.database(ctx, namespaceOf(i), s.size); err != nil {
			return err
		}
	}
	if err := s.plain(ctx); err != nil {
		return err
	}
	said := time.Now()
	all := s.clusters*s.size + plainPods
	err := until(ctx, 40*time.Minute, "all pods are ready", func() bool {
		ready := s.world.count()
		if time.Since(said) > 20*time.Second {
			said = time.Now()
			say("%d of %d pods are ready", ready, all)
		}
		return ready >= all
	})
	if err != nil {
		return err
	}
	s.table.add("all pods made and ready", "", time.Since(from).Round(time.Second).String())
	return nil
}

// down ends what was started, the last first.
func (s *stage) down() error {
	for _, p := range s.both {
		p.signal(syscall.SIGTERM)
	}
	s.kwok.signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := route(ctx, "del", s.pods)
	if s.keep {
		return err
	}
	command := exec.CommandContext(ctx, filepath.Join(s.bin, "rollcall-cluster"), "down", "--name", s.name, "--purge")
	command.Stderr = os.Stderr
	return errors.Join(err, command.Run())
}

// route makes the addresses of pods this machine's own, or ends that.
func route(ctx context.Context, verb, network string) error {
	out, err := exec.CommandContext(ctx, "ip", "route", verb, "local", network, "dev", "lo").CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip route %s local %s: %w: %s", verb, network, err, out)
	}
	return nil
}

// until waits for something, and says what it was when it does not come.
func until(ctx context.Context, limit time.Duration, what string, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
