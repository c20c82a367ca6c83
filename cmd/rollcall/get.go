package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func newGet(a *app) *cobra.Command {
	var all bool
	var out format
	cmd := &cobra.Command{
		Use:               "get [NAME]",
		Short:             "List database clusters and how far their rollouts have come",
		Example:           fmt.Sprintf("  %[1]s get -A\n  %[1]s get -A -o wide\n  %[1]s get search -n prod -o yaml", a.name),
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, err := a.namespace()
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
			list, _, err := a.clustersOf(cmd.Context(), ns, name)
			if err != nil {
				return err
			}
			return a.writeList(out, list, ns, name, all)
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list those of all namespaces")
	outputFlag(cmd, &out, "text", formatWide, formatJSON, formatYAML)
	return cmd
}

func (a *app) writeList(f format, list []*rollcallv1.Cluster, ns, name string, all bool) error {
	if f != formatText && f != formatWide {
		if name != "" {
			return a.writeProto(f, list[0])
		}
		return a.writeProto(f, &rollcallv1.ListClustersResponse{Clusters: list})
	}
	if len(list) == 0 {
		where := "namespace " + ns
		if all {
			where = "any namespace"
		}
		_, err := fmt.Fprintf(a.streams.ErrOut, "no DatabaseCluster in %s\n", where)
		return err
	}
	show.List(a.streams.Out, a.palette(), list, all, f == formatWide, time.Now())
	return nil
}
