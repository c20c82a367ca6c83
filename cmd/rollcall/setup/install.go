// Package setup has the commands that bring Rollcall to databases, keep it up to date and
// take it away again.
package setup

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/deploy/manifests"
)

// Install prints what installs Rollcall.
func Install(a *cli.App) *cobra.Command {
	o := manifests.Options{}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print the manifests that install Rollcall",
		Long: `Print the manifests that install Rollcall, for those who do without the chart. Nothing
is changed by that, and nothing in any database by applying them: see enroll for what
comes next. The chart offers more to choose.`,
		Example: fmt.Sprintf(`  %[1]s install | kubectl apply --server-side -f -
  %[1]s install --install-namespace ops --image registry.example.com/rollcall/coordinator:v1 \
    --agent-image registry.example.com/rollcall/agent:v1 | kubectl apply --server-side -f -`, a.Name),
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			o.Namespace = a.Reach.Namespace
			text, err := manifests.Install(o)
			if err == nil {
				_, err = fmt.Fprint(a.Out, text)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.CoordinatorImage, "image", manifests.CoordinatorImage, "image of the coordinator")
	cmd.Flags().StringVar(&o.AgentImage, "agent-image", manifests.AgentImage, "image of the agent that is added to database pods")
	return cmd
}

// Uninstall prints what to delete.
func Uninstall(a *cli.App) *cobra.Command {
	var crd bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Print the manifests of what to delete, to be rid of Rollcall",
		Long: `Print the manifests of what install has made, in the opposite order. Nothing is
changed by that. Delete the DatabaseClusters first, while a coordinator runs: it takes
back what the drain changed. Then guard-remove, which stops the coordinators and removes all
guards at once: nobody is left to open one. Databases run on, and their agents until the pods restart.

What a chart has installed, helm uninstall removes.`,
		Example: fmt.Sprintf(`  kubectl delete databaseclusters --all -A
  %[1]s guard-remove && %[1]s uninstall | kubectl delete --ignore-not-found -f -`, a.Name),
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := manifests.Uninstall(manifests.Options{Namespace: a.Reach.Namespace}, crd)
			if err == nil {
				_, err = fmt.Fprint(a.Out, text)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&crd, "crd", false, "the definition of DatabaseCluster, too, with which every DatabaseCluster goes")
	return cmd
}
