package guard

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// held returns the StatefulSets, namespace/name, whose partition is where Rollcall has put it:
// without Rollcall no change of their template is rolled out. Lowering it is left to people,
// because a waiting change would be rolled out at once.
func held(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	var names []string
	err := kube.Pages(metav1.ListOptions{}, func(o metav1.ListOptions) (string, error) {
		sets, err := client.AppsV1().StatefulSets(metav1.NamespaceAll).List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range sets.Items {
			set := &sets.Items[i]
			rolling := set.Spec.UpdateStrategy.RollingUpdate
			if rolling == nil || rolling.Partition == nil || *rolling.Partition == 0 {
				continue
			}
			if set.Annotations[v1alpha1.AnnotationPartition] == strconv.Itoa(int(*rolling.Partition)) {
				names = append(names, set.Namespace+"/"+set.Name)
			}
		}
		return sets.Continue, nil
	})
	return names, err
}
