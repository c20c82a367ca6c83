package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// approvable is what a person can consent to, and what that means.
var approvable = []struct {
	what    model.Approved
	meaning string
}{
	{model.ApprovedAdopt, "restart pods that have no agent yet, without being able to ask them"},
	{model.ApprovedCanary, "let the other pods follow the first ones"},
	{model.ApprovedLeader, "restart the pod that goes last"},
	{model.ApprovedOutage, "take all pods at once"},
}

func newApprove(a *app) *cobra.Command {
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
		Example:           fmt.Sprintf("  %[1]s approve search -n prod --what adopt", a.name),
		Args:              oneName("DatabaseCluster"),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(names, what) {
				return fmt.Errorf("--what is %q: one of %s is wanted", what, strings.Join(names, ", "))
			}
			if anyRevision && revision != "" {
				return errors.New("--revision and --any-revision do not go together")
			}
			return a.approve(cmd.Context(), args[0], model.Approved(what), revision, anyRevision)
		},
	}
	cmd.Flags().StringVar(&what, "what", "", "what to consent to: "+strings.Join(names, ", "))
	cmd.Flags().StringVar(&revision, "revision", "", "approve this update revision; default: those that are being rolled out now")
	cmd.Flags().BoolVar(&anyRevision, "any-revision", false, "approve later revisions too")
	_ = cmd.MarkFlagRequired("what")
	_ = cmd.RegisterFlagCompletionFunc("what", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) approve(ctx context.Context, name string, what model.Approved, revision string, anyRevision bool) error {
	ns, err := a.namespace()
	if err != nil {
		return err
	}
	clusters, core, err := a.clients()
	if err != nil {
		return err
	}
	var revisions []string
	switch {
	case revision != "":
		revisions = []string{revision}
	case anyRevision:
		revisions = []string{""}
	default:
		if revisions, err = updateRevisions(ctx, core, ns, name); err != nil {
			return err
		}
	}
	by := whoAmI(ctx, core)
	added := 0
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := clusters.DatabaseClusters(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var approvals []model.Approval
		if approvals, added = addApprovals(object.Status.Approvals, what, revisions, by, time.Now()); added == 0 {
			return nil
		}
		// The rest of the status is the coordinator's, and may have fields that this version does not know.
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": object.ResourceVersion},
			"status":   map[string]any{"approvals": approvals},
		})
		if err != nil {
			return err
		}
		_, err = clusters.DatabaseClusters(ns).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "rollcall"}, "status")
		return err
	})
	if err != nil {
		return aboutObject(err, ns, name)
	}
	said := "approved"
	if added == 0 {
		said = "was approved before"
	}
	fmt.Fprintf(a.streams.Out, "databasecluster/%s: %s %s for %s\n", name, what, said, revisionsText(revisions))
	return nil
}

func revisionsText(revisions []string) string {
	if len(revisions) == 1 && revisions[0] == "" {
		return "any revision"
	}
	return strings.Join(revisions, ", ")
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

// updateRevisions are those of the StatefulSets, read now: the status may
// still speak of the rollout before.
func updateRevisions(ctx context.Context, core kubernetes.Interface, namespace, name string) ([]string, error) {
	sets, err := core.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + name})
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("not permitted to see which revision is being rolled out; name it with --revision, or use --any-revision: %w", err)
	} else if err != nil {
		return nil, fmt.Errorf("list StatefulSets of %s: %w", name, err)
	}
	revisions := map[string]bool{}
	for _, s := range sets.Items {
		if s.Status.ObservedGeneration < s.Generation {
			return nil, fmt.Errorf("kubernetes has not yet looked at the newest change of StatefulSet %s; try again in some seconds", s.Name)
		}
		if s.Status.UpdateRevision != "" {
			revisions[s.Status.UpdateRevision] = true
		}
	}
	if len(revisions) == 0 {
		return nil, fmt.Errorf("no StatefulSet in namespace %s has the label %s=%s, so there is nothing to approve; --revision or --any-revision approve all the same", namespace, v1alpha1.LabelCluster, name)
	}
	return slices.Sorted(maps.Keys(revisions)), nil
}

// whoAmI is the name by which the API server knows this person; empty when it
// does not say.
func whoAmI(ctx context.Context, core kubernetes.Interface) string {
	review, err := core.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}
