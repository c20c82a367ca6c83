package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rollcall-dev/rollcall/cmd/printable"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// app is what the commands share: where to write, and how to reach a cluster.
type app struct {
	streams genericiooptions.IOStreams
	kube    *genericclioptions.ConfigFlags
	reach   reach.Options
	// name is how the program was called.
	name string
}

func newRoot(name string, streams genericiooptions.IOStreams) *cobra.Command {
	a := &app{
		streams: streams,
		kube:    genericclioptions.NewConfigFlags(true),
		name:    name,
	}
	root := &cobra.Command{
		Use:   "rollcall",
		Short: "See and steer how changes roll through stateful databases",
		Long: `Rollcall rolls a change through a stateful database on Kubernetes without ever
taking away more of it than it can spare.

These commands show what the coordinator decides and why, decide offline on a
saved snapshot, and let people pause, resume and approve.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Version:           versionText(name, builtVersion()),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())
	})

	flags := root.PersistentFlags()
	a.kube.AddFlags(flags)
	// kubectl's flags that hardly anybody needs work, and stay out of the way.
	for _, rare := range []string{
		"as", "as-group", "as-uid", "as-user-extra", "cache-dir", "certificate-authority", "client-certificate", "client-key",
		"cluster", "disable-compression", "insecure-skip-tls-verify", "server", "tls-server-name", "token", "user",
	} {
		if f := flags.Lookup(rare); f != nil {
			f.Hidden = true
		}
	}
	flags.StringVar(&a.reach.Namespace, "install-namespace", reach.DefaultNamespace, "namespace in which Rollcall is installed")
	flags.StringVar(&a.reach.Address, "coordinator", "", "host:port of the coordinator; default: found through the API server")
	flags.BoolVar(&a.reach.SendToken, "send-token", false, "show the coordinator the token of the kubeconfig; whoever holds it may do all that you may. Default: a proof that is of no use elsewhere")
	flags.StringVar(&a.reach.CA, "ca", "", "PEM file with the authorities of the coordinator at --coordinator; without it the connection is not encrypted")
	flags.StringVar(&a.reach.Cert, "cert", "", "PEM file with the certificate to show to the coordinator at --coordinator")
	flags.StringVar(&a.reach.Key, "key", "", "PEM file with the key of --cert")

	_ = root.RegisterFlagCompletionFunc("namespace", a.completeNamespaces)
	_ = root.RegisterFlagCompletionFunc("install-namespace", a.completeNamespaces)

	root.AddCommand(
		newGet(a), newStatus(a), newWatch(a), newExplain(a),
		newPlan(a), newSnapshot(a), newJournal(a), newReplay(a),
		newPause(a), newResume(a), newApprove(a), newOverride(a), newRestart(a), newReplace(a), newDrain(a), newDoctor(a), newEnroll(a), newPage(a),
		newRehearse(a), newInstall(a), newUninstall(a), newInject(a), newUpgradeAgents(a), newGuardExpire(a), newGuardRemove(a), newVersion(a),
	)
	root.InitDefaultCompletionCmd()
	completeHelp(root)
	return root
}

// namespace is the one that was asked for, or the kubeconfig's.
func (a *app) namespace() (string, error) {
	ns, _, err := a.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("kubeconfig: %w", err)
	}
	return ns, nil
}

// unnamedServer is what client-go falls back to where nothing names a cluster.
const unnamedServer = "http://localhost:8080"

// config says how to reach the API server.
func (a *app) config() (*rest.Config, error) {
	config, err := a.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if config.Host == unnamedServer && *a.kube.APIServer == "" {
		loader := a.kube.ToRawKubeConfigLoader()
		if raw, err := loader.RawConfig(); err == nil && len(raw.Clusters) == 0 {
			return nil, fmt.Errorf("kubeconfig: no cluster is named in %s; set KUBECONFIG or --kubeconfig",
				strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", "))
		}
	}
	config = rest.CopyConfig(config)
	// A person's few requests should not wait for each other.
	config.QPS, config.Burst = 50, 100
	return config, nil
}

// clients of the API server that the kubeconfig names.
func (a *app) clients() (v1alpha1.Clients, kubernetes.Interface, error) {
	config, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	clusters, err := v1alpha1.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("client of the API server: %w", err)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("client of the API server: %w", err)
	}
	return clusters, core, nil
}

// dial connects to the coordinator.
func (a *app) dial(ctx context.Context) (*reach.Coordinator, error) {
	opts := a.reach
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Address == "" {
		config, err := a.config()
		if err != nil {
			return nil, err
		}
		opts.Config = config
	}
	return reach.Dial(ctx, opts)
}

// palette colours only what a person looks at.
func (a *app) palette() show.Palette {
	var p show.Palette
	columns, _, ok := terminalSize(a.streams.Out)
	if ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		p = show.Terminal
	}
	p.Columns = columns
	return p
}

// terminalSize is that of the terminal that w is; ok is false when it is none.
// A terminal that does not know has a size of 0.
func terminalSize(w io.Writer) (columns, rows int, ok bool) {
	if !isTerminal(w) {
		return 0, 0, false
	}
	f, _ := file(w)
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0, true
	}
	return columns, rows, true
}

func isTerminal(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// file is the one that w writes to, if it is one.
func file(w io.Writer) (*os.File, bool) {
	if p, ok := w.(*printable.Writer); ok {
		w = p.Unwrap()
	}
	f, ok := w.(*os.File)
	return f, ok
}

// asItIs is standard output for documents of the user's own, which have to come out
// as they went in. Only a terminal, where a person looks at them, does not get that.
func (a *app) asItIs() io.Writer {
	if p, ok := a.streams.Out.(*printable.Writer); ok && !isTerminal(p) {
		return p.Unwrap()
	}
	return a.streams.Out
}

// format is an output format.
type format string

// The formats.
const (
	formatText format = ""
	formatJSON format = "json"
	formatYAML format = "yaml"
	// formatWide is text with more columns.
	formatWide format = "wide"
)

// outputFlag adds -o to a command.
func outputFlag(cmd *cobra.Command, f *format, allowed ...format) {
	names := make([]string, 0, len(allowed))
	for _, a := range allowed {
		names = append(names, string(a))
	}
	cmd.Flags().VarP(&formatValue{f, names}, "output", "o", "output format: "+strings.Join(names, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

type formatValue struct {
	f       *format
	allowed []string
}

func (v *formatValue) String() string { return string(*v.f) }
func (v *formatValue) Type() string   { return "format" }
func (v *formatValue) Set(text string) error {
	for _, a := range v.allowed {
		if a == text {
			*v.f = format(text)
			if text == "text" {
				*v.f = formatText
			}
			return nil
		}
	}
	return errors.New("want " + strings.Join(v.allowed, ", "))
}

// oneName is for commands about one thing, which is their only argument.
func oneName(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s: the name of one %s is wanted, there are %d\nSee '%s --help'", cmd.CommandPath(), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}
