package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/sidecar"
)

func newUpgradeAgents(a *app) *cobra.Command {
	var image string
	var dryRun bool
	var output format
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
		Example:           fmt.Sprintf("  %[1]s upgrade-agents search -n prod --image registry.example/rollcall/agent:0.2.0", a.name),
		Args:              oneName("DatabaseCluster"),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if image == "" {
				return errors.New("--image: the image of the agent is wanted")
			}
			if timeout <= 0 {
				return fmt.Errorf("--timeout is %s: a time above 0 is wanted, such as 2m", timeout)
			}
			ns, err := a.namespace()
			if err != nil {
				return err
			}
			clusters, core, err := a.clients()
			if err != nil {
				return err
			}
			if _, err := clusters.DatabaseClusters(ns).Get(cmd.Context(), args[0], metav1.GetOptions{}); err != nil {
				return aboutObject(err, ns, args[0])
			}
			u := sidecar.Upgrade{
				Kubernetes: core, Clusters: clusters, Namespace: ns, Name: args[0], Image: image, Timeout: timeout, DryRun: dryRun,
				Say: func(format string, args ...any) { fmt.Fprintf(a.streams.ErrOut, format+"\n", args...) },
			}
			results, err := u.Run(cmd.Context())
			if output == formatJSON && (err == nil || len(results) > 0) {
				encoder := json.NewEncoder(a.streams.Out)
				encoder.SetIndent("", "  ")
				return errors.Join(err, encoder.Encode(map[string]any{"image": image, "pods": results}))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&image, "image", "", "image of the agent, by tag or digest")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long one agent may take to come back")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be done")
	outputFlag(cmd, &output, "text", formatJSON)
	return cmd
}
