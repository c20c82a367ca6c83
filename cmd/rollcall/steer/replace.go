package steer

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Replace has a pod come back with fresh data.
func Replace(a *cli.App) *cobra.Command {
	var cancel, never bool
	cmd := &cobra.Command{
		Use:   "replace POD",
		Short: "Have a pod come back under its name with fresh data",
		Long: `Have a pod come back under its name with fresh data: everything is moved off it,
the database is asked whether nothing is left on it, its volume claims and the pod
are deleted, and it takes data again when it is back on new ones.

This sets the annotation ` + v1alpha1.AnnotationReplace + ` on the pod. What is asked for by name waits
for no limit of spec.replacement, and obeys all other rules: see explain. It can be
cancelled until the claim says that the pod is empty.`,
		Example: fmt.Sprintf(`  %[1]s replace fdb-3 -n prod
  %[1]s replace fdb-3 -n prod --cancel
  %[1]s replace fdb-3 -n prod --never   # it fails on purpose: leave it alone`, a.Name),
		Args:              cli.OneName("pod"),
		ValidArgsFunction: a.CompletePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := a.API()
			if err != nil {
				return err
			}
			pod, err := readPod(cmd.Context(), k, args[0])
			switch {
			case err != nil:
				return err
			case databaseOf(pod) == "":
				return fmt.Errorf("pod %s belongs to no DatabaseCluster: it has no label %s", args[0], v1alpha1.LabelCluster)
			}
			value, said := nowOr(cancel), "is to be replaced"
			switch {
			case cancel:
				said = "is not asked to be replaced any more"
			case never:
				value, said = v1alpha1.ReplaceNever, "is not replaced because it fails"
			}
			if err := annotatePod(cmd.Context(), k, pod, v1alpha1.AnnotationReplace, value); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "pod/%s %s\n", args[0], said)
			return nil
		},
	}
	cmd.Flags().BoolVar(&cancel, "cancel", false, "take back what was asked for")
	cmd.Flags().BoolVar(&never, "never", false, "do not replace it because it fails")
	cmd.MarkFlagsMutuallyExclusive("cancel", "never")
	return cmd
}
