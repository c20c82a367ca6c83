package steer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// longestOverride is enough for emergencies; permanent changes belong in spec.policy.
const longestOverride = 7 * 24 * time.Hour

type overrideFlags struct {
	rule, reason string
	pods         []string
	lasts        time.Duration
	remove       bool
}

// Override breaks a rule for named pods.
func Override(a *cli.App) *cobra.Command {
	f := overrideFlags{}
	var rules []string
	for _, rule := range model.Overridable() {
		rules = append(rules, string(rule))
	}
	cmd := &cobra.Command{
		Use:   "override NAME --rule RULE --pod POD --reason TEXT",
		Short: "Break one rule for named pods, with a reason and an end",
		Long: `Break one rule for named pods, until a time. All other rules hold for them, and
this rule for all other pods. Each use is told in the plan, in an Event of the pod and
in its reason. Which rule holds a pod, and why, is what explain says first.

This adds to spec.overrides of the DatabaseCluster, under your name, and takes away
there what has expired. Where that is owned by GitOps, write it there instead.

Rules: ` + strings.Join(show.Wrap(strings.Join(rules, ", "), 70), "\n") + `.`,
		Example: fmt.Sprintf(`  %[1]s override search -n prod --rule failure-detection --pod search-3 --reason "fix for CHG-881 has to be out by noon"
  %[1]s override search -n prod --rule failure-detection --pod search-3 --remove`, a.Name),
		Args:              cli.OneName("DatabaseCluster"),
		ValidArgsFunction: a.CompleteNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.remove && (cmd.Flags().Changed("reason") || cmd.Flags().Changed("for")) {
				return errors.New("--remove goes with --rule and --pod only")
			}
			return override(cmd.Context(), a, args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.rule, "rule", "", "the rule, as explain names it")
	cmd.Flags().StringSliceVar(&f.pods, "pod", nil, `the pod, or "*" for all; may be given again`)
	_ = cmd.RegisterFlagCompletionFunc("pod", a.CompletePodFlag)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for those who read it later")
	cmd.Flags().DurationVar(&f.lasts, "for", time.Hour, "how long, such as 30m; at most 168h")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "let the rule hold again for these pods; without --pod for all")
	_ = cmd.MarkFlagRequired("rule")
	_ = cmd.RegisterFlagCompletionFunc("rule", cobra.FixedCompletions(rules, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func override(ctx context.Context, a *cli.App, name string, f overrideFlags) error {
	k, err := a.API()
	if err != nil {
		return err
	}
	now, add := time.Now(), []model.Override(nil)
	if !f.remove {
		wanted, err := f.wanted(now)
		if err != nil {
			return err
		}
		if err := ownPods(ctx, k, name, f.pods); err != nil {
			return err
		}
		if by := whoAmI(ctx, k.Core); by != "" {
			wanted.Reason += " (" + by + ")"
		}
		add = []model.Override{wanted}
	}
	changed := false
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := k.Clusters.DatabaseClusters(k.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var left []model.Override
		left, changed = lift(object.Spec.Overrides, model.Rule(f.rule), f.pods, now)
		if changed = changed || !f.remove; !changed {
			return nil
		}
		object.Spec.Overrides = append(left, add...)
		_, err = k.Clusters.DatabaseClusters(k.Namespace).Update(ctx, object, metav1.UpdateOptions{FieldManager: cli.FieldManager})
		return err
	})
	if err != nil {
		return cli.AboutObject(err, k.Namespace, name)
	}
	pods := strings.Join(f.pods, ", ")
	if pods == "" || pods == "*" {
		pods = "all pods"
	}
	said := "was not overridden for " + pods
	switch {
	case !f.remove:
		said = fmt.Sprintf("does not hold for %s until %s", pods, add[0].Expires.UTC().Format(time.RFC3339))
	case changed:
		said = "holds for " + pods + " again"
	}
	fmt.Fprintf(a.Out, "databasecluster/%s: %s %s\n", name, f.rule, said)
	return nil
}

// wanted is the override that the flags ask for.
func (f *overrideFlags) wanted(now time.Time) (model.Override, error) {
	o := model.Override{
		Rule: model.Rule(f.rule), Pods: f.pods, Reason: strings.TrimSpace(f.reason), Expires: model.At(now.Add(f.lasts).Truncate(time.Second)),
	}
	if f.lasts < time.Second || f.lasts > longestOverride {
		return o, fmt.Errorf("--for is %s: must be at least 1s and at most 168h", f.lasts)
	}
	if flaws := o.Flaws(now); len(flaws) > 0 {
		flag := map[string]string{"pods": "pod"}[flaws[0].Field]
		return o, fmt.Errorf("--%s %s", cmp.Or(flag, flaws[0].Field), flaws[0].What)
	}
	return o, nil
}

// ownPods refuses pod names that no StatefulSet of the cluster uses: an override with a
// misspelt name would silently have no effect.
func ownPods(ctx context.Context, k cli.API, name string, pods []string) error {
	sets, err := k.Sets(ctx, name)
	if apierrors.IsForbidden(err) {
		return nil // without permission to list them, the names are not checked
	} else if err != nil {
		return err
	}
	for _, pod := range pods {
		known := slices.ContainsFunc(sets, func(set appsv1.StatefulSet) bool {
			ordinal, ok := strings.CutPrefix(pod, set.Name+"-")
			return ok && ordinal != "" && strings.Trim(ordinal, "0123456789") == ""
		})
		if pod != "*" && !known {
			return fmt.Errorf("--pod is %q: no StatefulSet in namespace %s with the label %s=%s gives this name to a pod", pod, k.Namespace, v1alpha1.LabelCluster, name)
		}
	}
	return nil
}

// lift removes the overrides of a rule for the pods, or for all pods when none is named, and
// expired overrides. It reports whether the rule was overridden for one of them.
func lift(list []model.Override, rule model.Rule, pods []string, now time.Time) (left []model.Override, lifted bool) {
	for _, o := range list {
		if !o.Expires.After(now) {
			continue
		}
		if o.Rule == rule {
			before := len(o.Pods)
			o.Pods = slices.DeleteFunc(slices.Clone(o.Pods), func(pod string) bool { return len(pods) == 0 || slices.Contains(pods, pod) })
			lifted = lifted || len(o.Pods) < before
			if len(o.Pods) == 0 {
				continue
			}
		}
		left = append(left, o)
	}
	return left, lifted
}
