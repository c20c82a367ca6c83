// Command rollcall-agent is the sidecar in every database pod.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/agent"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/confine"
	"github.com/rollcall-dev/rollcall/cmd/printable"
)

// version is set by the linker.
var version = "dev"

const (
	// A sidecar shares its node with a database, so it collects early and often:
	// its heap is a few MiB, and collecting it costs next to nothing.
	collectPercent = 25
	// processors is how many processors run at the same time. There is work for a few milliseconds
	// of each second, and each further processor costs memory and a wake-up each time.
	processors = 1
	// memoryLimit is where the garbage collector works harder. Only databases of tens of thousands
	// of replicas need more.
	memoryLimit = 64 << 20
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == confine.Command {
		fmt.Fprintln(os.Stderr, "rollcall-agent: confine:", confine.Run(os.Args[2:]))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	// Logs are shown on terminals, and contain text from databases.
	stdout, stderr := printable.NewWriter(os.Stdout), printable.NewWriter(os.Stderr)
	err := run(ctx, os.Args[1:], os.Getenv, stdout, stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(stderr, "rollcall-agent:", err)
		os.Exit(1)
	}
}

type flags struct {
	configDir, credentialsDir, stateDir string
	grpcAddress, httpAddress            string
	gossipPort                          uint
	probeInterval, probeTimeout         time.Duration
	logLevel                            slog.Level
	insecure, version                   bool
}

func parse(args []string, output io.Writer) (flags, error) {
	var f flags
	set := flag.NewFlagSet("rollcall-agent", flag.ContinueOnError)
	set.SetOutput(output)
	set.Usage = func() {
		fmt.Fprintln(output, "Usage: rollcall-agent [flags]\n\nThe sidecar of a database pod. Its identity comes from environment variables")
		fmt.Fprintf(output, "(%s, %s, ...), which injection sets.\n\nFlags:\n", config.EnvNamespace, config.EnvPod)
		set.PrintDefaults()
	}
	set.StringVar(&f.configDir, "config-dir", config.Dir, "`directory` of the Secret that the coordinator keeps")
	set.StringVar(&f.credentialsDir, "credentials-dir", config.CredentialsDir, "`directory` of the database's username and password")
	set.StringVar(&f.stateDir, "state-dir", config.StateDir, "`directory` that lives as long as the pod; not used when it is not there")
	set.StringVar(&f.grpcAddress, "grpc-addr", fmt.Sprintf(":%d", config.PortGRPC), "`address` of gRPC")
	set.StringVar(&f.httpAddress, "http-addr", fmt.Sprintf(":%d", config.PortHTTP), "`address` of health, metrics and the stop hook")
	set.UintVar(&f.gossipPort, "gossip-port", config.PortGossip, "`port` of the gossip, TCP and UDP, on the pod's IP")
	set.DurationVar(&f.probeInterval, "probe-interval", time.Second, "how often the database is looked at")
	set.DurationVar(&f.probeTimeout, "probe-timeout", 10*time.Second, "how long one look may take")
	set.TextVar(&f.logLevel, "log-level", slog.LevelInfo, "least `level` of what is logged: DEBUG, INFO, WARN, ERROR")
	set.BoolVar(&f.insecure, "insecure-dev", false, "no encryption and no authentication of gRPC and gossip; for development only")
	set.BoolVar(&f.version, "version", false, "print the version and end")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	switch {
	case set.NArg() > 0:
		return f, fmt.Errorf("unexpected argument %q; all options are flags", set.Arg(0))
	case f.gossipPort < 1 || f.gossipPort > 65535:
		return f, fmt.Errorf("-gossip-port is %d; it must be between 1 and 65535", f.gossipPort)
	case f.probeInterval < 100*time.Millisecond:
		return f, fmt.Errorf("-probe-interval is %v; it must be at least 100ms", f.probeInterval)
	case f.probeTimeout < 100*time.Millisecond:
		return f, fmt.Errorf("-probe-timeout is %v; it must be at least 100ms", f.probeTimeout)
	}
	return f, nil
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	f, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if f.version {
		fmt.Fprintln(stdout, version)
		return nil
	}
	identity, err := config.FromEnv(getenv)
	if err != nil {
		return err
	}
	if getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors)
	}
	if getenv("GOGC") == "" {
		debug.SetGCPercent(collectPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	logger := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: f.logLevel})).
		With("pod", identity.Pod, "cluster", identity.Cluster)

	state := usable(f.stateDir, logger)
	self, err := os.Executable()
	if err != nil {
		logger.Warn("cannot find the path of this program, so no other program can be confined", "error", err)
	}
	a, err := agent.New(agent.Options{
		Identity:      identity,
		NewEngine:     engineFrom(source{credentials: f.credentialsDir, secret: identity.Credentials, state: state, pod: identity.Pod, address: identity.PodIP, config: f.configDir, self: self, log: logger}),
		Version:       version,
		ConfigDir:     f.configDir,
		StateDir:      state,
		GRPCAddress:   f.grpcAddress,
		HTTPAddress:   f.httpAddress,
		GossipPort:    uint16(f.gossipPort),
		Insecure:      f.insecure,
		ProbeInterval: f.probeInterval,
		ProbeTimeout:  f.probeTimeout,
		Logger:        logger,
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// usable returns the directory if it is one, else "".
func usable(dir string, logger *slog.Logger) string {
	if dir == "" {
		return ""
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		logger.Info("no state directory: the state of the stop hook is lost when this process ends", "dir", dir)
		return ""
	}
	return dir
}
