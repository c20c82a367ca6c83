package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// version is set by the build: -ldflags "-X main.version=v1.2.3". Without it
// the module's version is used.
var version = ""

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// options are the flags.
type options struct {
	namespace  string
	identity   string
	agentImage string
	pullPolicy string
	grpcAddr   string
	httpAddr   string
	pageAddr   string
	webhook    string
	webhookCA  string
	service    string
	kubeconfig string
	logLevel   string
	maxRestart int
	apiQPS     int
	gossip     []string // networks, as text
	stopHook   []string
}

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "rollcall-coordinator",
		Short:         "Roll changes through stateful databases without taking away more of them than they can spare",
		Version:       versionText(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := o.validate()
			if err != nil {
				return err
			}
			return run(cmd.Context(), o, log)
		},
	}
	hostname, _ := os.Hostname()
	f := cmd.Flags()
	f.StringVar(&o.namespace, "namespace", "rollcall-system", "namespace in which the coordinator is installed")
	f.StringVar(&o.identity, "identity", hostname, "name of this coordinator's pod")
	f.StringVar(&o.agentImage, "agent-image", "", "image of the agent that is added to database pods (required)")
	f.StringVar(&o.pullPolicy, "agent-pull-policy", string(corev1.PullIfNotPresent), "when the agent's image is pulled: IfNotPresent, Always or Never")
	f.StringVar(&o.grpcAddr, "grpc-addr", ":7950", "address on which gRPC is served")
	f.StringVar(&o.httpAddr, "http-addr", ":7951", "address on which /healthz, /readyz and /metrics are served")
	f.StringVar(&o.pageAddr, "page-addr", ":7952", "address on which the read-only page is served, to those who show a reader's certificate; empty = none")
	f.StringVar(&o.webhook, "webhook-addr", ":9443", "address on which the webhook is served")
	f.StringVar(&o.webhookCA, "webhook-client-ca", "", "file with the authorities, in PEM, of whose certificates API servers must show one to the webhook; empty = none is asked for")
	f.StringVar(&o.service, "service-name", "rollcall-coordinator", "name of the coordinators' Service")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the API server; without it, as a pod does")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.IntVar(&o.maxRestart, "max-restarts", 0, "restarts in flight across all database clusters at most; 0 = no limit")
	f.IntVar(&o.apiQPS, "api-qps", 0, "requests to the API server a second, on average; 0 = no limit but the server's own (API Priority and Fairness)")
	f.StringSliceVar(&o.gossip, "gossip-cidrs", nil, "networks from which agents take gossip, those of all database pods, such as 10.244.0.0/16; none = any")
	f.StringSliceVar(&o.stopHook, "stop-hook-cidrs", nil, "networks from which kubelets call the agents' stop hook, beside their nodes' own addresses; none = any")
	return cmd
}

// prefixes are the networks of a flag.
func prefixes(flag string, texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%s has %q: must be networks such as 10.244.0.0/16", flag, text)
		}
		if prefix != prefix.Masked() {
			return nil, fmt.Errorf("%s has %q, an address and not a network: %s may be meant", flag, text, prefix.Masked())
		}
		if prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("%s has %q: must be plain IPv4, such as 10.244.0.0/16; no address would be in it", flag, text)
		}
		out = append(out, prefix)
	}
	return out, nil
}

// validate checks the flags and makes the logger.
func (o options) validate() (*slog.Logger, error) {
	for flag, value := range map[string]string{
		"--namespace": o.namespace, "--identity": o.identity, "--service-name": o.service, "--agent-image": o.agentImage,
	} {
		if value == "" {
			return nil, fmt.Errorf("%s is empty", flag)
		}
	}
	for flag, addr := range map[string]string{
		"--grpc-addr": o.grpcAddr, "--http-addr": o.httpAddr, "--webhook-addr": o.webhook, "--page-addr": o.pageAddr,
	} {
		if flag == "--page-addr" && addr == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("%s is %q: must be host:port, or :port for all addresses", flag, addr)
		}
	}
	if o.maxRestart < 0 {
		return nil, fmt.Errorf("--max-restarts is %d: must be a number, or 0 for no limit", o.maxRestart)
	}
	if o.apiQPS < 0 {
		return nil, fmt.Errorf("--api-qps is %d: must be a number, or 0 for no limit but the server's own", o.apiQPS)
	}
	for flag, texts := range map[string][]string{"--gossip-cidrs": o.gossip, "--stop-hook-cidrs": o.stopHook} {
		if _, err := prefixes(flag, texts); err != nil {
			return nil, err
		}
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level is %q: must be debug, info, warn or error", o.logLevel)
	}
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(log)
	klog.SetSlogLogger(log)
	return log, nil
}

var errNoPart = errors.New("ended unexpectedly")
