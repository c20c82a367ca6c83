package setup

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/lead"
)

// GuardExpire lets pods go when nobody leads.
func GuardExpire(a *cli.App) *cobra.Command {
	after := time.Hour
	cmd := &cobra.Command{
		Use:   "guard-expire",
		Short: "Let pods be removed again when no coordinator has led for too long",
		Long: `Let pods be removed again when no coordinator has led for too long: nobody would
be there to open a guard. Deletes are then only audited, and each
PodDisruptionBudget of Rollcall lets one pod at a time be evicted. A coordinator
that comes back undoes both. While one leads this changes nothing.

The chart runs it every 5 minutes. With --after=0s a person ends all guards at
once; a coordinator that leads undoes that, so stop it first.`,
		Example: fmt.Sprintf("  %[1]s guard-expire --after=1h", a.Name),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if after < 0 {
				return fmt.Errorf("--after is %s: must be a time that is not negative", after)
			}
			k, err := a.API()
			if err != nil {
				return err
			}
			reporter, err := os.Hostname()
			if err != nil || reporter == "" {
				reporter = "rollcall"
			}
			done, err := guard.Expire(cmd.Context(), guard.ExpireOptions{
				Client: k.Core, Clusters: k.Clusters, Namespace: a.Reach.Namespace, Lease: lead.LeaseName, After: after, Reporter: reporter,
			})
			if err == nil || done.Binding || len(done.Budgets)+done.Freed > 0 {
				fmt.Fprintln(a.Out, expiredText(done, after))
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&after, "after", after, "how long no coordinator may have led")
	return cmd
}

func expiredText(done guard.Expired, after time.Duration) string {
	silent := done.Silent.Round(time.Second)
	switch {
	case done.Silent < after:
		return fmt.Sprintf("a coordinator led %s ago: nothing was changed", silent)
	case !done.Binding && len(done.Budgets)+done.Freed == 0:
		return fmt.Sprintf("no coordinator has led for %s: nothing was left to change", silent)
	}
	text := fmt.Sprintf("no coordinator has led for %s", silent)
	if done.Binding {
		text += ": deletes are refused no longer"
	}
	if n := len(done.Budgets); n > 0 {
		text += fmt.Sprintf("; %d PodDisruptionBudgets let one pod go at a time: %s", n, strings.Join(done.Budgets, " "))
	}
	if done.Freed > 0 {
		text += fmt.Sprintf("; %d DatabaseClusters can be deleted in mid-rollout", done.Freed)
	}
	return text
}

// GuardRemove removes all guards.
func GuardRemove(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "guard-remove",
		Short: "Stop the coordinators and remove all guards, before Rollcall is uninstalled",
		Long: `Stop the coordinators, which scales their Deployment to 0, and remove all guards: the admission policy ` + v1alpha1.GuardPolicy + `, Rollcall's PodDisruptionBudgets
and the guards' labels on pods, in all namespaces, and the finalizers of
DatabaseClusters. Databases run on as they are. StatefulSets that
update.rollingUpdate: Partition has held are named: they roll no change until you
lower their partition.

helm uninstall runs it. Run it yourself before you remove the plain manifest:
the budgets of databases would stay, and refuse every drain. To get coordinators
and guards back, install again.`,
		Example: fmt.Sprintf("  %[1]s guard-remove && kubectl delete --ignore-not-found -f rollcall.yaml", a.Name),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := a.API()
			if err != nil {
				return err
			}
			done, err := guard.Uninstall(cmd.Context(), k.Core, k.Clusters, a.Reach.Namespace)
			if done.Stopped > 0 {
				fmt.Fprintf(a.Out, "%d coordinators stopped\n", done.Stopped)
			}
			if err == nil || done.Budgets+done.Pods > 0 {
				fmt.Fprintf(a.Out, "%d PodDisruptionBudgets and the labels of %d pods removed\n", done.Budgets, done.Pods)
			}
			for _, set := range done.Held {
				fmt.Fprintln(a.Out, heldText(set))
			}
			return err
		},
	}
}

// heldText describes a StatefulSet, namespace/name, whose partition stays, and how to reset it.
func heldText(set string) string {
	namespace, name, _ := strings.Cut(set, "/")
	return fmt.Sprintf("StatefulSet %s is held at the partition that Rollcall has set: Kubernetes rolls no change of it. When it should, and at once what may wait:\n"+
		"  kubectl -n %s patch statefulset %s --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/updateStrategy/rollingUpdate/partition\",\"value\":0}]'", set, namespace, name)
}
