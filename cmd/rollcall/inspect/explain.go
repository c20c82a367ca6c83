package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Explain says why a pod goes or waits.
func Explain(a *cli.App) *cobra.Command {
	var file, cluster string
	var out cli.Format
	cmd := &cobra.Command{
		Use:   "explain POD",
		Short: "Say why a pod goes or waits, and what that was decided on",
		Long: `Say why a pod goes, waits or is left alone, what would unblock it, and which
facts that was decided on, with their age.

With --snapshot, explain what would be decided on a saved snapshot; that needs
no cluster.`,
		Example:           fmt.Sprintf("  %[1]s explain search-4 -n prod\n  %[1]s explain search-4 --snapshot search.json", a.Name),
		Args:              cli.OneName("pod"),
		ValidArgsFunction: a.CompletePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := explain(cmd.Context(), a, args[0], cluster, file)
			if err != nil {
				return err
			}
			if out == cli.Text {
				show.Explanation(a.Out, a.Palette(), e)
				return nil
			}
			return a.WriteValue(out, e)
		},
	}
	cmd.Flags().StringVar(&file, "snapshot", "", "explain what would be decided on the snapshot in this file, - for standard input")
	cmd.Flags().StringVar(&cluster, "database-cluster", "", "name of the DatabaseCluster, where several have a pod of this name")
	_ = cmd.RegisterFlagCompletionFunc("database-cluster", a.CompleteClusterFlag)
	cli.OutputFlag(cmd, &out, "text", cli.JSON, cli.YAML)
	return cmd
}

func explain(ctx context.Context, a *cli.App, pod, cluster, file string) (status.Explanation, error) {
	pod = strings.TrimPrefix(pod, "pod/")
	if file == "" {
		return explainLive(ctx, a, pod, cluster)
	}
	snapshot, err := readSnapshot(a, file)
	if err != nil {
		return status.Explanation{}, err
	}
	return status.Explain(status.FromSnapshot(snapshot), pod)
}

func explainLive(ctx context.Context, a *cli.App, pod, cluster string) (status.Explanation, error) {
	ns, err := a.Namespace()
	if err != nil {
		return status.Explanation{}, err
	}
	var resp *rollcallv1.ExplainResponse
	err = a.Ask(ctx, cli.CallTimeout, func(ctx context.Context, c *reach.Coordinator) error {
		if cluster == "" {
			list, err := c.ListClusters(ctx, &rollcallv1.ListClustersRequest{Namespace: ns})
			if err != nil {
				return err
			}
			if cluster, err = clusterOf(pod, ns, list.GetClusters()); err != nil {
				return err
			}
		}
		resp, err = c.Explain(ctx, &rollcallv1.ExplainRequest{Namespace: ns, Name: cluster, Pod: pod})
		return err
	})
	if err != nil {
		return status.Explanation{}, err
	}
	e := status.Explanation{Pod: resp.GetPod(), Verdict: status.Verdict(resp.GetVerdict()), Rule: model.Rule(resp.GetRule()), Text: resp.GetText()}
	for _, f := range resp.GetFacts() {
		e.Facts = append(e.Facts, status.Fact{Name: f.GetName(), Value: f.GetValue(), AgeSeconds: f.GetAgeSeconds()})
	}
	return e, nil
}

// clusterOf is the name of the cluster that has a pod of this name.
func clusterOf(pod, namespace string, clusters []*rollcallv1.Cluster) (string, error) {
	var names []string
	for _, c := range clusters {
		for _, s := range c.GetPodStates() {
			if s.GetPod() == pod {
				names = append(names, c.GetName())
			}
		}
	}
	switch {
	case len(clusters) == 0:
		return "", fmt.Errorf("the coordinator knows no DatabaseCluster in namespace %s", namespace)
	case len(names) == 0:
		return "", fmt.Errorf("%w: %s is in none of the %d database clusters of namespace %s", status.ErrNoSuchPod, pod, len(clusters), namespace)
	case len(names) > 1:
		return "", errors.New("several database clusters have a pod " + pod + ": choose with --database-cluster one of " + strings.Join(names, ", "))
	}
	return names[0], nil
}
