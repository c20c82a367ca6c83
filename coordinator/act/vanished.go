package act

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A StatefulSet that loses its label, or that is deleted with its pods left behind, is
// not shown any more, and neither are its pods: the database runs on, and what was
// prepared is still in it. Only the API server itself can say that the pods are gone.

// seekEvery is how often it is asked.
const seekEvery = time.Second

// vanished: the snapshot shows nothing of the pool that a claimed pod is of.
func vanished(s model.Snapshot, claim model.Claim) bool {
	return !slices.ContainsFunc(s.Pools, func(p model.Pool) bool { return isOf(claim.Pod, p.Name) })
}

// isOf reads the name of a StatefulSet off that of its pod.
func isOf(pod, set string) bool {
	ordinal, ok := strings.CutPrefix(pod, set+"-")
	n, err := strconv.Atoi(ordinal)
	return ok && err == nil && strconv.Itoa(n) == ordinal && n >= 0
}

// seek asks what has become of a pool that is not shown.
func (a *Actor) seek(ctx context.Context, claim model.Claim) func(*run) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	why, err := a.whyVanished(ctx, kube.SetOf(claim.Pod))
	return func(r *run) {
		switch {
		case err != nil:
			r.failed(err)
		case why != "":
			r.succeeded()
			r.problem, r.retryAt = why, time.Now().Add(seekEvery)
		default:
			a.log.Info("the StatefulSet is gone, and its pods are", "id", claim.ID, "pod", claim.Pod)
			r.succeeded()
			r.heard.Ended = true
		}
	}
}

// whyVanished says why a StatefulSet is not shown, and what is waited for; empty when it
// is gone with all its pods.
func (a *Actor) whyVanished(ctx context.Context, set string) (string, error) {
	wanted := v1alpha1.LabelCluster + ": " + a.options.Name
	found, err := a.options.Kubernetes.AppsV1().StatefulSets(a.options.Namespace).Get(ctx, set, metav1.GetOptions{})
	switch {
	case err == nil && found.Labels[v1alpha1.LabelCluster] == a.options.Name:
		return "the cache does not show StatefulSet " + set + " yet", nil
	case err == nil:
		return fmt.Sprintf("StatefulSet %s has lost the label %s, and what was prepared is not undone: it waits for the label", set, wanted), nil
	case !apierrors.IsNotFound(err):
		return "", fmt.Errorf("read StatefulSet %s: %w", set, err)
	}
	pods, err := a.pods.ofCluster(ctx, a.options.Name)
	if err != nil {
		return "", err
	}
	left := slices.DeleteFunc(pods, func(p labelled) bool { return !isOf(p.name, set) })
	if len(left) == 0 {
		return "", nil
	}
	return fmt.Sprintf("StatefulSet %s is gone and has left pods behind (%s), and what was prepared is not undone: it waits for the StatefulSet with the label %s, or for these pods to go",
		set, text(namesOf(left)), wanted), nil
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

// ofCluster asks the API server itself for the pods of a database, whosever they are. Those
// from before Rollcall have no label, and no agent.
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

// attended names the pods with an agent that nobody shows; empty when there are none,
// so that nobody is there who could undo anything.
func (a *Actor) attended(ctx context.Context) ([]string, error) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	pods, err := a.pods.ofCluster(ctx, a.options.Name)
	return namesOf(slices.DeleteFunc(pods, func(p labelled) bool { return !p.agent })), err
}
