package setup

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/enroll"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// waitEnrolled waits until the next step is possible, and prints what is missing.
func waitEnrolled(ctx context.Context, a *cli.App, plan *enroll.Plan, timeout time.Duration) error {
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	missing, state := "the API server has not answered", "nothing was heard of it"
	for said := ""; ; {
		seen, err := seen(timed, a, plan)
		switch {
		case err == nil || cli.Over(timed):
		case refused(err) && !apierrors.IsTooManyRequests(err):
			return fmt.Errorf("everything was written, but the result is unknown: %w", err)
		default:
			missing = err.Error()
		}
		if err == nil {
			if missing = plan.Waiting(seen); missing == "" {
				return nil
			}
			state = show.Progress(cli.FromObject(seen.Cluster))
		}
		if missing != said && !cli.Over(timed) {
			said = missing
			fmt.Fprintf(a.ErrOut, "%s  waiting: %s\n", time.Now().Format(time.TimeOnly), missing)
		}
		if cli.Sleep(timed, cli.PollEvery) != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return cli.Exit(cli.ExitTimedOut, fmt.Errorf("everything was written, but after %s DatabaseCluster %s is not ready to go on: %s (%s); do not change the pod template before this command, given again, ends with 0",
				timeout, plan.Name, missing, state))
		}
	}
}

// seen asks the coordinator about clusters that it has decided on, and falls back to Events
// when it does not answer.
func seen(ctx context.Context, a *cli.App, plan *enroll.Plan) (enroll.Seen, error) {
	k, err := a.API()
	if err != nil {
		return enroll.Seen{}, err
	}
	var s enroll.Seen
	if s.Cluster, err = k.Cluster(ctx, plan.Name); err != nil {
		return s, err
	}
	if !plan.Guards() || plan.Decided(s.Cluster) != "" {
		return s, nil
	}
	asking, cancel := context.WithTimeout(ctx, cli.Patience)
	defer cancel()
	if s.Snapshot, s.NotAsked = snapshotOf(asking, a, plan.Name); s.NotAsked == nil {
		return s, nil
	}
	about := fields.Set{"involvedObject.kind": v1alpha1.Kind, "involvedObject.name": plan.Name}
	events, err := k.Core.CoreV1().Events(plan.Namespace).List(ctx, metav1.ListOptions{FieldSelector: about.String()})
	if err != nil {
		s.NotAsked = errors.Join(s.NotAsked, fmt.Errorf("list Events of namespace %s: %w", plan.Namespace, err))
		return s, nil
	}
	s.Events = events.Items
	return s, nil
}
