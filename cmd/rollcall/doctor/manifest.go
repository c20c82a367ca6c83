package doctor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// maxManifest bounds what is read, in bytes.
const maxManifest = 64 << 20

// ErrManifest is for input that is no manifest of Kubernetes.
var ErrManifest = errors.New("no manifest that can be examined")

// Manifest reads a stream of YAML or JSON documents, such as helm template writes. Errors
// name the document.
func Manifest(data []byte) (*Facts, error) {
	if len(data) > maxManifest {
		return nil, fmt.Errorf("%w: larger than %d MiB", ErrManifest, maxManifest>>20)
	}
	f := &Facts{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = f.add(document)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: document %d: %w", ErrManifest, number, err)
		}
	}
	if len(f.Sets) == 0 {
		return nil, fmt.Errorf("%w: there is no StatefulSet in it", ErrManifest)
	}
	return f, nil
}

// add takes what is of a kind that is examined; everything else is not looked at.
func (f *Facts) add(document []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	switch kind.APIVersion + "/" + kind.Kind {
	case "v1/List":
		var list struct {
			Items []runtime.RawExtension `json:"items"`
		}
		if err := yaml.Unmarshal(document, &list); err != nil {
			return err
		}
		for i, item := range list.Items {
			if err := f.add(item.Raw); err != nil {
				return fmt.Errorf("items[%d]: %w", i, err)
			}
		}
	case "apps/v1/StatefulSet":
		return appended(&f.Sets, document)
	case "policy/v1/PodDisruptionBudget":
		return appended(&f.Budgets, document)
	case "networking.k8s.io/v1/NetworkPolicy":
		return appended(&f.Policies, document)
	case v1alpha1.GroupVersion.String() + "/DatabaseCluster":
		return appended(&f.Clusters, document)
	}
	return nil
}

func appended[T appsv1.StatefulSet | policyv1.PodDisruptionBudget | networkingv1.NetworkPolicy | v1alpha1.DatabaseCluster](list *[]T, document []byte) error {
	var object T
	if err := yaml.Unmarshal(document, &object); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}
