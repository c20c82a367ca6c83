package act

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// findSet finds out what has become of a StatefulSet that is not shown.
func (x *Executor) findSet(ctx context.Context, e effect.FindSet) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	why, err := x.findMissing(ctx, e.Set)
	return effect.SetFound{Claim: e.Claim, Why: why, Err: err}
}

// findMissing says why a StatefulSet is not shown, and what is awaited. It is empty if the
// StatefulSet is gone with all its pods.
func (x *Executor) findMissing(ctx context.Context, set string) (string, error) {
	wanted := v1alpha1.LabelCluster + ": " + x.options.Name
	found, err := x.options.Kubernetes.AppsV1().StatefulSets(x.options.Namespace).Get(ctx, set, metav1.GetOptions{})
	switch {
	case err == nil && found.Labels[v1alpha1.LabelCluster] == x.options.Name:
		return "the cache does not show StatefulSet " + set + " yet", nil
	case err == nil:
		return fmt.Sprintf("StatefulSet %s has lost the label %s, and the drain is not undone: it waits for the label", set, wanted), nil
	case !apierrors.IsNotFound(err):
		return "", fmt.Errorf("read StatefulSet %s: %w", set, err)
	}
	pods, err := x.pods.ofCluster(ctx, x.options.Name)
	if err != nil {
		return "", err
	}
	left := slices.DeleteFunc(pods, func(p labelled) bool { return !model.IsOf(p.name, set) })
	if len(left) == 0 {
		return "", nil
	}
	return fmt.Sprintf("StatefulSet %s is gone and has left pods behind (%s), and the drain is not undone: it waits for the StatefulSet with the label %s, or for these pods to go",
		set, effect.ListPods(namesOf(left)), wanted), nil
}

// labelled is a pod that carries the label of a database cluster.
type labelled struct {
	name  string
	agent bool
}

func namesOf(pods []labelled) []string {
	var names []string
	for _, p := range pods {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}

// ofCluster asks the API server itself for the pods of a database, whoever owns them. Pods from
// before Rollcall have no label, and no agent.
func (p *Pods) ofCluster(ctx context.Context, cluster string) ([]labelled, error) {
	list, err := p.client.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelCluster + "=" + cluster})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", cluster, err)
	}
	var out []labelled
	for i := range list.Items {
		out = append(out, labelled{list.Items[i].Name, kube.HasAgent(&list.Items[i].Spec)})
	}
	return out, nil
}

// attended names the pods with an agent that are not shown. It is empty if there are none, so that
// nobody could undo anything.
func (x *Executor) attended(ctx context.Context) ([]string, error) {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	pods, err := x.pods.ofCluster(ctx, x.options.Name)
	return namesOf(slices.DeleteFunc(pods, func(p labelled) bool { return !p.agent })), err
}
