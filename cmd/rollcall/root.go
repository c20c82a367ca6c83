package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/inspect"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/rehearse"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/setup"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/steer"
)

func newRoot(name string, streams genericiooptions.IOStreams) *cobra.Command {
	a := &cli.App{IOStreams: streams, Kube: genericclioptions.NewConfigFlags(true), Name: name}
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
	addFlags(root, a)
	root.AddCommand(
		inspect.Get(a), inspect.Status(a), inspect.Watch(a), inspect.Explain(a), inspect.Plan(a), inspect.Snapshot(a),
		inspect.Journal(a), inspect.Replay(a), inspect.Page(a),
		steer.Pause(a), steer.Resume(a), steer.Approve(a), steer.Override(a), steer.Restart(a), steer.Replace(a), steer.Drain(a),
		setup.Doctor(a), setup.Enroll(a), setup.Install(a), setup.Uninstall(a), setup.Inject(a), setup.UpgradeAgents(a),
		setup.GuardExpire(a), setup.GuardRemove(a),
		rehearse.Command(a), newVersion(a),
	)
	root.InitDefaultCompletionCmd()
	completeHelp(root)
	return root
}

// rare are flags of kubectl that are accepted and hidden.
var rare = []string{
	"as", "as-group", "as-uid", "as-user-extra", "cache-dir", "certificate-authority", "client-certificate", "client-key",
	"cluster", "disable-compression", "insecure-skip-tls-verify", "server", "tls-server-name", "token", "user",
}

func addFlags(root *cobra.Command, a *cli.App) {
	flags := root.PersistentFlags()
	a.Kube.AddFlags(flags)
	for _, name := range rare {
		_ = flags.MarkHidden(name)
	}
	flags.StringVar(&a.Reach.Namespace, "install-namespace", reach.DefaultNamespace, "namespace in which Rollcall is installed")
	flags.StringVar(&a.Reach.Address, "coordinator", "", "host:port of the coordinator; default: found through the API server")
	flags.BoolVar(&a.Reach.SendToken, "send-token", false, "show the coordinator the token of the kubeconfig; whoever holds it may do all that you may. Default: a proof that is of no use elsewhere")
	flags.StringVar(&a.Reach.CA, "ca", "", "PEM file with the authorities of the coordinator at --coordinator; without it the connection is not encrypted")
	flags.StringVar(&a.Reach.Cert, "cert", "", "PEM file with the certificate to show to the coordinator at --coordinator")
	flags.StringVar(&a.Reach.Key, "key", "", "PEM file with the key of --cert")
	_ = root.RegisterFlagCompletionFunc("namespace", a.CompleteNamespaces)
	_ = root.RegisterFlagCompletionFunc("install-namespace", a.CompleteNamespaces)
}

// completeHelp adds what many commands have in common to their help, such as the meaning of
// the exit status.
func completeHelp(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Example = "  source <(" + root.DisplayName() + " completion bash)    # and zsh, fish, powershell: see completion bash --help"
		}
		if c.Long == "" {
			c.Long = c.Short + "."
		}
		if !strings.Contains(c.Long, "exit status") {
			c.Long += "\n\nThe exit status is 0 when this was done, and 1 otherwise."
		}
	}
}
