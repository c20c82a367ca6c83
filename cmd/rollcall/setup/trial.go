package setup

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/enroll"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// try asks the API server, by dry runs, whether it admits the pods once they have an agent: pod
// security, quotas, LimitRanges and policies of others refuse pods only when they are made, and then
// a pod that was restarted for its agent does not come back.
func try(ctx context.Context, k cli.API, plan *enroll.Plan, live *doctor.Live) []doctor.Finding {
	review, err := k.Core.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: k.Namespace, Verb: "create", Resource: "pods"}},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		live.Tried("whether Kubernetes admits pods with an agent", err)
		return nil
	case !review.Status.Allowed:
		return []doctor.Finding{{Severity: doctor.Warning, Object: "namespace " + k.Namespace, Found: "whether Kubernetes admits pods with an agent was not tried: you may not create pods here, not even in a dry run",
			Fix: "have somebody with the role edit run rollcall enroll with --dry-run first"}}
	}
	var trials []enroll.Trial
	for i := range plan.Sets {
		t, err := tryPod(ctx, k, plan, i)
		if live.Tried("whether Kubernetes admits pods of StatefulSet "+plan.Sets[i].Name+" with an agent", err) {
			trials = append(trials, t)
		}
	}
	var quotas []corev1.ResourceQuota
	if list, err := k.Core.CoreV1().ResourceQuotas(k.Namespace).List(ctx, metav1.ListOptions{}); live.Tried("ResourceQuotas", err) {
		quotas = list.Items
	}
	return plan.Admission(trials, quotas, live.Pods)
}

// tryPod makes a pod of a StatefulSet in a dry run. Where the webhook adds no agent, it is added here.
// An error means that it is not known what Kubernetes would do.
func tryPod(ctx context.Context, k cli.API, plan *enroll.Plan, i int) (t enroll.Trial, err error) {
	t.Set = &plan.Sets[i]
	pod := plan.TrialPod(t.Set, true)
	if t.Made, t.Refused, err = dryPod(ctx, k, pod); err != nil {
		return t, err
	}
	if t.Made != nil && kube.HasAgent(&t.Made.Spec) {
		t.Injected = true
		return t, nil
	}
	if t.Refused == nil {
		with, err := plan.WithAgent(pod)
		if err != nil {
			return t, err // the doctor says why
		}
		if t.Made, t.Refused, err = dryPod(ctx, k, with); err != nil {
			return t, err
		}
	}
	if t.Refused != nil {
		_, t.Bare, err = dryPod(ctx, k, plan.TrialPod(t.Set, false))
	}
	return t, err
}

// dryPod returns what the API server would make, or why it refuses.
func dryPod(ctx context.Context, k cli.API, pod *corev1.Pod) (made *corev1.Pod, refused, err error) {
	made, err = k.Core.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{FieldManager: enroll.FieldManager, DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return made, nil, nil
	case apierrors.IsAlreadyExists(err):
		return pod, nil, nil // what admits pods comes before names are compared
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return nil, err, nil
	}
	return nil, nil, err
}
