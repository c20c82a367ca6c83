package guard

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The account of the garbage collector, which exists where each controller of
// Kubernetes has an account of its own.
const (
	controllersNamespace = "kube-system"
	collectorAccount     = "generic-garbage-collector"
)

// askUser finds out whether the controllers act under names of their own. If they do not, the
// policy admits all of them, so that no deletion hangs, and there is no guard.
func (g *Guard) askUser(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := g.options.Kubernetes.CoreV1().ServiceAccounts(controllersNamespace).Get(ctx, collectorAccount, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return // the answer stays
	}
	if apierrors.IsForbidden(err) {
		g.options.Logger.Warn("the user of the controllers of Kubernetes is unknown, so nothing is guarded", "error", err)
	}
	was := g.oneUser.Swap(err != nil)
	if first := !g.asked.Swap(true); first || was != (err != nil) {
		g.lookAll("")
	}
}
