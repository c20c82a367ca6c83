package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/retry"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/enroll"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
)

// enrolling is what a person asks of enroll.
type enrolling struct {
	enroll.Options
	dryRun  bool
	timeout time.Duration
	out     format

	networkPolicy bool
	metricsFrom   []string
}

func newEnroll(a *app) *cobra.Command {
	var engine string
	e := enrolling{timeout: 3 * time.Minute}
	cmd := &cobra.Command{
		Use:   "enroll STATEFULSET...",
		Short: "Put running StatefulSets under Rollcall, and say what is left to do",
		Long: `Put the StatefulSets of one database, which run already, under Rollcall. They are examined
first, as doctor does. Where nothing is in the way, what they lack is written: a partition
where a RollingUpdate names none, the label rollcall.dev/cluster, also of the Secret with the
username and password (the one that you name, or the default one of a new DatabaseCluster),
and a DatabaseCluster.
None of it restarts a pod, and what is there is left as it is. Then this waits until
Kubernetes refuses to remove their pods, and says what is left for a person: the label in
the pod template, and to approve that each pod restarts once for its agent.

MySQL and MariaDB need a Secret with the keys username and password first: NAME` + `-rollcall-credentials
of the DatabaseCluster, or the one that --credentials-secret names. For other fields of the
DatabaseCluster than this writes, apply one yourself; --dry-run -o yaml prints one to begin with.

With --network-policy it also prints a NetworkPolicy, and writes none. It closes the agents' ports to
all but each other, the coordinators and, for metrics, the namespaces of --metrics-from; the kubelet
needs no rule. The database's own ports stay as they are: open to everybody, or as the policies
say that select its pods. Your network plugin should know ranges of ports (endPort; Cilium from 1.16):
where it does not, only those of the database's ports stay open that its containers name.

The exit status is 0 when all of it is done, 1 when it could not be, 2 when the doctor finds
errors, so that nothing was written, and 3 when all is written and the time is up. The same
command again goes on from there.`,
		Example: fmt.Sprintf(`  %[1]s enroll solr -n prod
  %[1]s enroll os-data os-managers -n prod --name logs --engine OpenSearch
  %[1]s enroll mysql -n prod --credentials-secret mysql-rollcall-accounts --dry-run
  %[1]s enroll solr -n prod --dry-run -o yaml --network-policy --metrics-from monitoring`, a.name),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s: the name of a StatefulSet is wanted\nSee '%s --help'", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.completeSets,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if cmd.Flags().Changed("engine") {
				if e.Engine, err = enroll.ParseEngine(engine); err != nil {
					return err
				}
			}
			for _, flag := range []string{"name", "credentials-secret"} {
				if cmd.Flags().Changed(flag) && cmd.Flag(flag).Value.String() == "" {
					return fmt.Errorf("--%s is empty: a name is wanted", flag)
				}
			}
			if e.timeout <= 0 {
				return fmt.Errorf("--timeout is %s: more than 0 is wanted, such as 3m", e.timeout)
			}
			if len(e.metricsFrom) > 0 && !e.networkPolicy {
				return errors.New("--metrics-from says whom a NetworkPolicy lets through: it is only good with --network-policy")
			}
			for _, ns := range e.metricsFrom {
				if why := validation.IsDNS1123Label(ns); len(why) > 0 {
					return fmt.Errorf("--metrics-from %q: the name of a namespace is wanted: %s", ns, why[0])
				}
			}
			e.Sets = args
			return a.enroll(cmd.Context(), e)
		},
	}
	var engines []string
	for _, known := range enroll.Engines {
		engines = append(engines, string(known))
	}
	cmd.Flags().StringVar(&engine, "engine", "", "kind of database: "+strings.Join(engines, ", ")+"; default: what the image says")
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions(engines, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&e.Name, "name", "", "name of the DatabaseCluster; default: what the label says, or the name of the first StatefulSet")
	cmd.Flags().StringVar(&e.CredentialsSecret, "credentials-secret", "", "Secret with the username and password of the agents")
	cmd.Flags().BoolVar(&e.Observe, "observe", false, "make a DatabaseCluster that only shows what it would do")
	cmd.Flags().BoolVar(&e.dryRun, "dry-run", false, "write nothing; print the manifest and the commands that this amounts to")
	cmd.Flags().DurationVar(&e.timeout, "timeout", e.timeout, "how long to wait for the coordinator")
	cmd.Flags().BoolVar(&e.networkPolicy, "network-policy", false, "print a NetworkPolicy, too, that keeps strangers off the agents' ports")
	cmd.Flags().StringSliceVar(&e.metricsFrom, "metrics-from", nil, "namespaces that may read the agents' metrics, by that policy; none = nobody")
	outputFlag(cmd, &e.out, "text", formatJSON, formatYAML)
	return cmd
}

func (a *app) enroll(ctx context.Context, e enrolling) error {
	facts, ns, err := a.readFacts(ctx)
	if err != nil {
		return err
	}
	e.Namespace = ns
	plan, err := enroll.Decide(facts, e.Options)
	if err != nil {
		return err
	}
	after := plan.Facts(facts)
	if err := a.readSecrets(ctx, after, ns); err != nil {
		return err
	}
	plan.Consent(after)
	found := a.examineRead(ctx, after)
	if plan.Image != "" {
		fmt.Fprintf(a.streams.ErrOut, "note: the engine is %s, as the image %s says\n", plan.Cluster.Spec.Engine, show.Clean(plan.Image))
	}
	a.writeObstacles(plan, found, e)
	objects := []any{plan.Manifest()}
	var policy *networkingv1.NetworkPolicy
	if e.networkPolicy {
		if policy, err = plan.NetworkPolicy(facts, e.metricsFrom); err != nil {
			return err
		}
		objects = append(objects, policy)
	}
	if e.dryRun {
		return errors.Join(a.writeDryRun(plan, policy, e.out, objects), unworkable(found.Findings))
	}
	if err := unworkable(found.Findings); err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	// Beside a manifest there is nothing else on standard output.
	say := a.streams.Out
	if e.out != formatText {
		say = a.streams.ErrOut
	}
	if err := a.writeEnrolled(ctx, plan, say); err != nil {
		return err
	}
	if e.out != formatText {
		if err := a.writeObjects(e.out, objects); err != nil {
			return err
		}
	}
	if err := a.waitEnrolled(ctx, plan, e.timeout); err != nil {
		return err
	}
	if plan.Guards() {
		fmt.Fprintf(say, "databasecluster/%s: Kubernetes refuses to remove pods that Rollcall has not let go\n", plan.Name)
	} else {
		fmt.Fprintf(say, "databasecluster/%s: the coordinator has decided; nothing is guarded, as it asks for\n", plan.Name)
	}
	fmt.Fprintf(say, "\n%s", plan.Left(a.name, facts.Live.Pods))
	if policy != nil && e.out == formatText {
		fmt.Fprintf(say, "\nTo keep strangers off the agents' ports, apply this, which counts for each pod that has the label:\n\n")
		return a.writeApply(policy)
	}
	return nil
}

// writeObjects writes several as YAML documents, or as a List.
func (a *app) writeObjects(out format, objects []any) error {
	switch {
	case len(objects) == 1:
		return a.writeValue(out, objects[0])
	case out == formatJSON:
		return a.writeValue(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	}
	for i, object := range objects {
		if i > 0 {
			fmt.Fprintln(a.streams.Out, "---")
		}
		if err := a.writeValue(out, object); err != nil {
			return err
		}
	}
	return nil
}

// writeApply writes what a shell applies.
func (a *app) writeApply(object any) error {
	fmt.Fprintln(a.streams.Out, "kubectl apply -f - <<'EOF'")
	if err := a.writeValue(formatYAML, object); err != nil {
		return err
	}
	fmt.Fprintln(a.streams.Out, "EOF")
	return nil
}

// writeObstacles writes errors as the doctor does, what keeps the guard from enforcing, and of
// the rest how much there is.
func (a *app) writeObstacles(plan *enroll.Plan, found examined, e enrolling) {
	of := func(is func(doctor.Finding) bool) (out []doctor.Finding) {
		for _, f := range found.Findings {
			if is(f) {
				out = append(out, f)
			}
		}
		return out
	}
	inTheWay := func(f doctor.Finding) bool {
		return f.Severity == doctor.Error || f.Check == "budget" && f.Severity == doctor.Warning && plan.Guards()
	}
	a.writeFindings(a.streams.ErrOut, of(inTheWay))
	a.writeUnread(found.Unread)
	// That the label is not in the pod template is what is left to do.
	rest := of(func(f doctor.Finding) bool { return f.Severity == doctor.Warning && f.Check != "label" && !inTheWay(f) })
	for _, f := range rest {
		fmt.Fprintf(a.streams.ErrOut, "warning: %s: %s\n", f.Check, show.Clean(f.Found))
	}
	if len(rest) > 0 {
		fmt.Fprintf(a.streams.ErrOut, "note: how to mend them: %s doctor %s -n %s\n", a.name, strings.Join(e.Sets, " "), e.Namespace)
	}
}

// writeDryRun prints what a shell would do the same with, or only the manifest.
func (a *app) writeDryRun(plan *enroll.Plan, policy *networkingv1.NetworkPolicy, out format, objects []any) error {
	if out != formatText {
		return a.writeObjects(out, objects)
	}
	w := a.streams.Out
	if len(plan.Steps) == 0 {
		fmt.Fprintln(w, "# nothing would be written: all of it is there")
	}
	for _, s := range plan.Steps {
		if s.Command != "" {
			fmt.Fprintln(w, s.Command)
			continue
		}
		if err := a.writeApply(plan.Manifest()); err != nil {
			return err
		}
	}
	if policy != nil {
		return a.writeApply(policy)
	}
	return nil
}

// writeEnrolled writes what is left of the plan, after the API server has said of each step
// that it would be taken, so that a refusal leaves everything as it was.
func (a *app) writeEnrolled(ctx context.Context, plan *enroll.Plan, say io.Writer) error {
	if plan.Exists {
		fmt.Fprintf(say, "databasecluster/%s is there, and is left as it is\n", plan.Name)
	}
	if len(plan.Steps) == 0 {
		fmt.Fprintln(say, "nothing is to be written: the StatefulSets have what is wanted")
	}
	tried := slices.Clone(plan.Steps)
	slices.Reverse(tried) // the DatabaseCluster first: of it most can be wrong
	known := map[string]*appsv1.StatefulSet{}
	for i := range plan.Sets {
		known[plan.Sets[i].Name] = &plan.Sets[i]
	}
	for _, s := range tried {
		if err := a.take(ctx, plan, s, maps.Clone(known), metav1.DryRunAll); err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
	}
	for i, s := range plan.Steps {
		if err := a.take(ctx, plan, s, known); err != nil {
			written := "nothing was written"
			switch {
			case !refused(err):
				written = "whether this was written is not known; it restarts nothing, and the same command goes on from what is there"
			case i > 0:
				written = "what is said above was written, and restarts nothing; the same command goes on from there"
			}
			return fmt.Errorf("%w\n%s", err, written)
		}
		fmt.Fprintln(say, s.Said)
	}
	return nil
}

// errChanged: somebody else was quicker.
var errChanged = errors.New("was changed while this looked")

// refused: the API server itself has answered that it did not do it.
func refused(err error) bool {
	var answer apierrors.APIStatus
	return errors.Is(err, errChanged) || errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500
}

// take does one step, on the StatefulSet as it is known, and notes how it is then.
func (a *app) take(ctx context.Context, plan *enroll.Plan, s enroll.Step, known map[string]*appsv1.StatefulSet, dryRun ...string) error {
	clusters, core, err := a.clients()
	if err != nil {
		return err
	}
	if s.Secret != "" {
		patch, err := s.PatchOf(s.ResourceVersion)
		if err != nil {
			return err
		}
		_, err = core.CoreV1().Secrets(plan.Namespace).Patch(ctx, s.Secret, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: enroll.FieldManager, DryRun: dryRun})
		switch {
		case apierrors.IsConflict(err):
			return fmt.Errorf("secret %s in namespace %s %w: the same command looks anew (%s)", s.Secret, plan.Namespace, errChanged, err)
		case apierrors.IsForbidden(err):
			return fmt.Errorf("label Secret %s in namespace %s: %w\nWhoever may write the Secret allows it for the agents: %s", s.Secret, plan.Namespace, err, s.Command)
		case err != nil:
			return fmt.Errorf("label Secret %s in namespace %s: %w", s.Secret, plan.Namespace, err)
		}
		return nil
	}
	if s.Set == "" {
		_, err := clusters.DatabaseClusters(plan.Namespace).Create(ctx, plan.Manifest(), metav1.CreateOptions{FieldManager: enroll.FieldManager, DryRun: dryRun})
		if err != nil {
			return aboutObject(err, plan.Namespace, plan.Name)
		}
		return nil
	}
	sets := core.AppsV1().StatefulSets(plan.Namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		patch, err := s.PatchOf(known[s.Set].ResourceVersion)
		if err != nil {
			return err
		}
		set, err := sets.Patch(ctx, s.Set, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: enroll.FieldManager, DryRun: dryRun})
		switch {
		case apierrors.IsConflict(err):
			// Kubernetes writes the status after each change; that is nobody's decision.
			live, readErr := sets.Get(ctx, s.Set, metav1.GetOptions{})
			if readErr != nil || !enroll.SameOrder(known[s.Set], live) {
				return fmt.Errorf("StatefulSet %s in namespace %s %w: the same command looks anew (%s)", s.Set, plan.Namespace, errChanged, cmp.Or(readErr, err))
			}
			known[s.Set] = live
			return err
		case err != nil:
			return fmt.Errorf("patch StatefulSet %s in namespace %s: %w", s.Set, plan.Namespace, err)
		}
		known[s.Set] = set
		return nil
	})
}
