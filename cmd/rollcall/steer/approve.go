package steer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// approvable lists what a person can approve, and what that means.
var approvable = []struct {
	what    model.Approved
	meaning string
}{
	{model.ApprovedAdopt, "restart pods that have no agent yet, without being able to ask them"},
	{model.ApprovedCanary, "let the other pods follow the first ones"},
	{model.ApprovedLeader, "restart the pod that goes last"},
	{model.ApprovedOutage, "take all pods at once"},
}

// Approve returns the command that approves what the coordinator asks for.
func Approve(a *cli.App) *cobra.Command {
	var what, revision string
	var anyRevision bool
	var names []string
	long := "Consent to what the coordinator asks a person for:\n\n"
	for _, w := range approvable {
		names = append(names, string(w.what))
		long += fmt.Sprintf("  %-8s %s\n", w.what, w.meaning)
	}
	long += `
An approval is for the revisions that are being rolled out now, and stands with
your name in the status of the DatabaseCluster.`
	cmd := &cobra.Command{
		Use:               "approve NAME --what " + strings.Join(names, "|"),
		Short:             "Consent to what the coordinator asks a person for",
		Long:              long,
		Example:           fmt.Sprintf("  %[1]s approve search -n prod --what adopt", a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(names, what) {
				return fmt.Errorf("--what is %q: must be one of %s", what, strings.Join(names, ", "))
			}
			if anyRevision && revision != "" {
				return errors.New("--revision and --any-revision do not go together")
			}
			return approve(cmd.Context(), a, args[0], approval{model.Approved(what), revision, anyRevision})
		},
	}
	cmd.Flags().StringVar(&what, "what", "", "what to consent to: "+strings.Join(names, ", "))
	cmd.Flags().StringVar(&revision, "revision", "", "approve this update revision; default: those that are being rolled out now")
	cmd.Flags().BoolVar(&anyRevision, "any-revision", false, "approve later revisions too")
	_ = cmd.MarkFlagRequired("what")
	_ = cmd.RegisterFlagCompletionFunc("what", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// approval is what a person consents to.
type approval struct {
	what model.Approved
	// revision to approve; empty means the update revisions of now, or any.
	revision string
	any      bool
}

func approve(ctx context.Context, a *cli.App, name string, wanted approval) error {
	k, err := a.API()
	if err != nil {
		return err
	}
	revisions := []string{wanted.revision}
	if wanted.revision == "" && !wanted.any {
		if revisions, err = updateRevisions(ctx, k, name); err != nil {
			return err
		}
	}
	by := whoAmI(ctx, k.Core)
	added := 0
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := k.Clusters.DatabaseClusters(k.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var approvals []model.Approval
		if approvals, added = addApprovals(object.Status.Approvals, wanted.what, revisions, by, time.Now()); added == 0 {
			return nil
		}
		// A patch, because the status may have fields that this version does not know.
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": object.ResourceVersion},
			"status":   map[string]any{"approvals": approvals},
		})
		if err != nil {
			return err
		}
		_, err = k.Clusters.DatabaseClusters(k.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cli.FieldManager}, "status")
		return err
	})
	if err != nil {
		return cli.AboutObject(err, k.Namespace, name)
	}
	said := "approved"
	if added == 0 {
		said = "was approved before"
	}
	on := strings.Join(revisions, ", ")
	fmt.Fprintf(a.Out, "databasecluster/%s: %s %s for %s\n", name, wanted.what, said, cmp.Or(on, "any revision"))
	return nil
}

// maxApprovals is how many a DatabaseCluster may have; the oldest make room.
const maxApprovals = 200

// addApprovals adds what is not there yet. An approval of any revision covers all.
func addApprovals(have []model.Approval, what model.Approved, revisions []string, by string, now time.Time) ([]model.Approval, int) {
	added := 0
	for _, revision := range revisions {
		there := slices.ContainsFunc(have, func(a model.Approval) bool {
			return a.What == what && (a.Revision == revision || a.Revision == "")
		})
		if there {
			continue
		}
		have = append(have, model.Approval{Revision: revision, What: what, By: by, At: model.At(now.Truncate(time.Second))})
		added++
	}
	if len(have) > maxApprovals {
		have = have[len(have)-maxApprovals:]
	}
	return have, added
}

// updateRevisions reads the update revisions from the StatefulSets: the status of the
// DatabaseCluster may still describe the previous rollout.
func updateRevisions(ctx context.Context, k cli.API, name string) ([]string, error) {
	sets, err := k.Sets(ctx, name)
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("not permitted to see which revision is being rolled out; name it with --revision, or use --any-revision: %w", err)
	} else if err != nil {
		return nil, err
	}
	var revisions []string
	for _, s := range sets {
		if s.Status.ObservedGeneration < s.Generation {
			return nil, fmt.Errorf("kubernetes has not yet looked at the newest change of StatefulSet %s; try again in a few seconds", s.Name)
		}
		if s.Status.UpdateRevision != "" {
			revisions = append(revisions, s.Status.UpdateRevision)
		}
	}
	if len(revisions) == 0 {
		return nil, fmt.Errorf("no StatefulSet in namespace %s has the label %s=%s, so there is nothing to approve; --revision or --any-revision approve all the same", k.Namespace, v1alpha1.LabelCluster, name)
	}
	slices.Sort(revisions)
	return slices.Compact(revisions), nil
}

// whoAmI is the user name at the API server, or empty when it is not known.
func whoAmI(ctx context.Context, core kubernetes.Interface) string {
	review, err := core.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}
