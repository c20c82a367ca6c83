package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/enroll"
)

// enrollment writes a plan.
type enrollment struct {
	cli.API
	plan *enroll.Plan
	// known are the StatefulSets by name, as the API server returned them last.
	known  map[string]*appsv1.StatefulSet
	dryRun []string
}

// write executes the remaining steps, after a dry run of all of them, so that a refusal
// changes nothing.
func (e *enrollment) write(ctx context.Context, say io.Writer) error {
	if e.plan.Exists {
		fmt.Fprintf(say, "databasecluster/%s is there, and is left as it is\n", e.plan.Name)
	}
	if len(e.plan.Steps) == 0 {
		fmt.Fprintln(say, "nothing to write: the StatefulSets are set up already")
	}
	tried := slices.Clone(e.plan.Steps)
	slices.Reverse(tried) // the DatabaseCluster first: it is the most likely to be refused
	e.dryRun = []string{metav1.DryRunAll}
	for _, s := range tried {
		e.look()
		if err := e.take(ctx, s); err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
	}
	e.look()
	e.dryRun = nil
	for i, s := range e.plan.Steps {
		if err := e.take(ctx, s); err != nil {
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

// look resets known to the StatefulSets that the plan is based on.
func (e *enrollment) look() {
	e.known = map[string]*appsv1.StatefulSet{}
	for i := range e.plan.Sets {
		e.known[e.plan.Sets[i].Name] = &e.plan.Sets[i]
	}
}

// errChanged reports a concurrent change.
var errChanged = errors.New("was changed while this looked")

// refused says whether the API server rejected the request, so that nothing was written.
func refused(err error) bool {
	var answer apierrors.APIStatus
	return errors.Is(err, errChanged) || errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500
}

func (e *enrollment) take(ctx context.Context, s enroll.Step) error {
	switch {
	case s.Secret != "":
		return e.labelSecret(ctx, s)
	case s.Set != "":
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error { return e.patchSet(ctx, s) })
	}
	_, err := e.Clusters.DatabaseClusters(e.Namespace).Create(ctx, e.plan.Manifest(), metav1.CreateOptions{FieldManager: enroll.FieldManager, DryRun: e.dryRun})
	if err != nil {
		return cli.AboutObject(err, e.Namespace, e.plan.Name)
	}
	return nil
}

func (e *enrollment) labelSecret(ctx context.Context, s enroll.Step) error {
	patch, err := s.PatchOf(s.ResourceVersion)
	if err != nil {
		return err
	}
	_, err = e.Core.CoreV1().Secrets(e.Namespace).Patch(ctx, s.Secret, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: enroll.FieldManager, DryRun: e.dryRun})
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("secret %s in namespace %s %w: the same command looks again (%s)", s.Secret, e.Namespace, errChanged, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("label Secret %s in namespace %s: %w\nWhoever may write the Secret allows it for the agents: %s", s.Secret, e.Namespace, err, s.Command)
	case err != nil:
		return fmt.Errorf("label Secret %s in namespace %s: %w", s.Secret, e.Namespace, err)
	}
	return nil
}

// patchSet patches the known version of the StatefulSet and records the result.
func (e *enrollment) patchSet(ctx context.Context, s enroll.Step) error {
	sets := e.Core.AppsV1().StatefulSets(e.Namespace)
	patch, err := s.PatchOf(e.known[s.Set].ResourceVersion)
	if err != nil {
		return err
	}
	set, err := sets.Patch(ctx, s.Set, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: enroll.FieldManager, DryRun: e.dryRun})
	switch {
	case apierrors.IsConflict(err):
		// A conflict with a status update of Kubernetes is retried.
		live, readErr := sets.Get(ctx, s.Set, metav1.GetOptions{})
		if readErr != nil || !enroll.SameOrder(e.known[s.Set], live) {
			return fmt.Errorf("StatefulSet %s in namespace %s %w: the same command looks again (%s)", s.Set, e.Namespace, errChanged, cmp.Or(readErr, err))
		}
		e.known[s.Set] = live
		return err
	case err != nil:
		return fmt.Errorf("patch StatefulSet %s in namespace %s: %w", s.Set, e.Namespace, err)
	}
	e.known[s.Set] = set
	return nil
}
