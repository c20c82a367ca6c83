package setup

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/sidecar"
)

// UpgradeAgents changes the image of running agents.
func UpgradeAgents(a *cli.App) *cobra.Command {
	var image string
	var dryRun bool
	var output cli.Format
	timeout := 2 * time.Minute
	cmd := &cobra.Command{
		Use:   "upgrade-agents NAME --image IMAGE",
		Short: "Bring another version of the agent into running pods, without restarting the database",
		Long: `Bring another version of the agent into the running pods of a database, one pod
at a time. Only the sidecar is restarted, not the database.

Agents that are one minor version apart work together; images whose tags are
further apart are refused. A pod that is claimed is waited for. When an agent
does not come back, it is given its old image again and nothing else is touched.

Pods that are made later get the image that the webhook or their template names:
change it there, too.`,
		Example:           fmt.Sprintf("  %[1]s upgrade-agents search -n prod --image registry.example/rollcall/agent:0.2.0", a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if image == "" {
				return errors.New("--image: must be the image of the agent")
			}
			if timeout <= 0 {
				return fmt.Errorf("--timeout is %s: must be a time above 0, such as 2m", timeout)
			}
			k, err := a.API()
			if err != nil {
				return err
			}
			if _, err := k.Cluster(cmd.Context(), args[0]); err != nil {
				return err
			}
			u := sidecar.Upgrade{
				Kubernetes: k.Core, Clusters: k.Clusters, Namespace: k.Namespace, Name: args[0], Image: image, Timeout: timeout, DryRun: dryRun,
				Say: func(format string, args ...any) { fmt.Fprintf(a.ErrOut, format+"\n", args...) },
			}
			results, err := u.Run(cmd.Context())
			if output == cli.JSON && (err == nil || len(results) > 0) {
				return errors.Join(err, a.WriteValue(output, map[string]any{"image": image, "pods": results}))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&image, "image", "", "image of the agent, by tag or digest")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long one agent may take to come back")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be done")
	cli.OutputFlag(cmd, &output, "text", cli.JSON)
	return cmd
}
