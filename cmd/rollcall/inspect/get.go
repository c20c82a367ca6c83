// Package inspect has the commands that show what Rollcall does and why.
package inspect

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Get lists database clusters.
func Get(a *cli.App) *cobra.Command {
	var all bool
	var out cli.Format
	cmd := &cobra.Command{
		Use:               "get [NAME]",
		Short:             "List database clusters and how far their rollouts have come",
		Example:           fmt.Sprintf("  %[1]s get -A\n  %[1]s get -A -o wide\n  %[1]s get search -n prod -o yaml", a.Name),
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := a.Namespace()
			if err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			if all {
				if name != "" {
					return fmt.Errorf("get %s: a name is in one namespace, so --all-namespaces does not go with it", name)
				}
				ns = ""
			}
			list, _, err := a.ClustersOf(cmd.Context(), ns, name)
			if err != nil {
				return err
			}
			return writeList(a, out, list, ns, name, all)
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list those of all namespaces")
	cli.OutputFlag(cmd, &out, "text", cli.Wide, cli.JSON, cli.YAML)
	return cmd
}

func writeList(a *cli.App, f cli.Format, list []*rollcallv1.Cluster, ns, name string, all bool) error {
	if f != cli.Text && f != cli.Wide {
		if name != "" {
			return a.WriteProto(f, list[0])
		}
		return a.WriteProto(f, &rollcallv1.ListClustersResponse{Clusters: list})
	}
	if len(list) == 0 {
		where := "namespace " + ns
		if all {
			where = "any namespace"
		}
		_, err := fmt.Fprintf(a.ErrOut, "no DatabaseCluster in %s\n", where)
		return err
	}
	show.List(a.Out, a.Palette(), list, all, f == cli.Wide, time.Now())
	return nil
}
