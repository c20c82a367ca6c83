package guard

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	// deployment is the coordinators' Deployment, in the manifests and in the chart.
	deployment = "rollcall-coordinator"
	// theirs selects the coordinators' pods.
	theirs = "app.kubernetes.io/name=rollcall,app.kubernetes.io/component=coordinator"
	// stopFor is how long to wait for coordinators to stop. They take a few seconds.
	stopFor = time.Minute
)

// stop stops all coordinators, and returns how many there should have been: a leading one would put
// back the finalizers and claims that are removed.
func stop(ctx context.Context, client kubernetes.Interface, namespace string) (int, error) {
	deployments := client.AppsV1().Deployments(namespace)
	scale, err := deployments.GetScale(ctx, deployment, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	wanted := int(scale.Spec.Replicas)
	if wanted > 0 {
		scale.Spec.Replicas = 0
		if _, err := deployments.UpdateScale(ctx, deployment, scale, metav1.UpdateOptions{}); err != nil {
			return 0, err
		}
	}
	var left []string
	err = wait.PollUntilContextTimeout(ctx, time.Second, stopFor, true, func(ctx context.Context) (bool, error) {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: theirs})
		if err != nil {
			return false, err
		}
		left = left[:0]
		for i := range pods.Items {
			left = append(left, pods.Items[i].Name)
		}
		return len(left) == 0, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return wanted, fmt.Errorf("still there after %s, and may put back what is removed: %s; run this again when they have ended", stopFor, strings.Join(left, ", "))
	}
	return wanted, err
}
