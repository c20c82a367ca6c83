package guard

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// labelled is what is kept of a pod with a guard, whoever owns it.
type labelled struct {
	Namespace string
	Name      string
	UID       types.UID
	// Cluster is the DatabaseCluster that the guard belongs to. It may be empty.
	Cluster string
	// Set is the name of the StatefulSet that owns the pod, SetUID its UID.
	Set    string
	SetUID types.UID
}

func (l labelled) key() kube.Key { return kube.Key{Namespace: l.Namespace, Name: l.Cluster} }

// labelledOf reduces a pod. It returns nil for a pod without a guard.
func labelledOf(pod *corev1.Pod) *labelled {
	if pod.Labels[v1alpha1.LabelGuard] == "" && pod.Labels[v1alpha1.LabelGuardCluster] == "" || pod.DeletionTimestamp != nil {
		return nil
	}
	l := &labelled{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		Cluster: pod.Labels[v1alpha1.LabelGuardCluster]}
	// No StatefulSet has a longer name: the pod belongs to none.
	if owner := metav1.GetControllerOf(pod); owner != nil && len(owner.Name) <= maxSource && len(owner.UID) <= maxUID {
		l.Set, l.SetUID = owner.Name, owner.UID
	}
	return l
}

// belongs reports whether the pod belongs to an existing DatabaseCluster, which then decides about
// its label. pool and exists return what is known.
func (l labelled) belongs(pool func(namespace, name string) (kube.Pool, bool), exists func(kube.Key) bool) bool {
	p, ok := pool(l.Namespace, l.Set)
	return ok && p.UID == l.SetUID && exists(kube.Key{Namespace: l.Namespace, Name: p.Cluster})
}
