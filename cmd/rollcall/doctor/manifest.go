package doctor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// maxManifest bounds what is read, in bytes.
const maxManifest = 64 << 20

// ErrManifest means that the input is not a Kubernetes manifest.
var ErrManifest = errors.New("not a manifest that can be examined")

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
	if len(f.Sets) == 0 && len(f.Owners) == 0 {
		return nil, fmt.Errorf("%w: there is no StatefulSet in it", ErrManifest)
	}
	for i := range f.Sets {
		setDefaults(&f.Sets[i])
	}
	return f, nil
}

// setDefaults sets what the API server makes of an update strategy that says nothing, or not all: only
// a RollingUpdate without rollingUpdate names no partition.
func setDefaults(set *appsv1.StatefulSet) {
	s := &set.Spec.UpdateStrategy
	if s.Type == "" {
		s.Type = appsv1.RollingUpdateStatefulSetStrategyType
		if s.RollingUpdate == nil {
			s.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
	}
	if s.Type == appsv1.RollingUpdateStatefulSetStrategyType && s.RollingUpdate != nil && s.RollingUpdate.Partition == nil {
		s.RollingUpdate.Partition = new(int32)
	}
}

// add adds objects of the kinds that are examined, and ignores all others.
func (f *Facts) add(document []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		if strings.Contains(err.Error(), "cannot unmarshal") {
			return errors.New("this is not an object of Kubernetes, which has apiVersion and kind: is it what helm template prints?")
		}
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
		return appended(f, &f.Sets, document)
	case "policy/v1/PodDisruptionBudget":
		return appended(f, &f.Budgets, document)
	case "networking.k8s.io/v1/NetworkPolicy":
		return appended(f, &f.Policies, document)
	case "v1/Service":
		return read(&f.Services, document)
	case "v1/ConfigMap":
		return read(&f.ConfigMaps, document)
	case "v1/Secret":
		var secret corev1.Secret
		if err := yaml.Unmarshal(document, &secret); err != nil {
			return errors.New("the Secret cannot be read") // the reason may have its values
		}
		if f.SecretMetas == nil {
			f.SecretMetas = map[string]*metav1.ObjectMeta{}
		}
		f.Rendered = append(f.Rendered, renderedSecret(&secret))
		f.SecretMetas[id(secret.Namespace, secret.Name)] = &secret.ObjectMeta
		f.KeepCertificates(&secret)
		return nil
	case v1alpha1.GroupVersion.String() + "/DatabaseCluster":
		return appended(f, &f.Clusters, document)
	}
	group, _, _ := strings.Cut(kind.APIVersion, "/")
	if isOperated(kind.APIVersion, kind.Kind) {
		object := map[string]any{}
		if err := yaml.Unmarshal(document, &object); err != nil {
			return err
		}
		u := unstructured.Unstructured{Object: object}
		f.Owners = append(f.Owners, Owner{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: u.GetNamespace(), Name: u.GetName(), Object: object})
	}
	if group == v1alpha1.Group {
		f.Misread = append(f.Misread, Finding{
			Severity: Error, Object: kind.Kind, Found: fmt.Sprintf("apiVersion %s and kind %s are not known, so it is not looked at", kind.APIVersion, kind.Kind),
			Fix: "apiVersion: " + v1alpha1.GroupVersion.String() + ", kind: " + v1alpha1.Kind,
		})
	}
	return nil
}

// appended reads one object. Unknown fields are findings, because the API server drops them with a
// warning that is easily overlooked.
func appended[T appsv1.StatefulSet | policyv1.PodDisruptionBudget | networkingv1.NetworkPolicy | v1alpha1.DatabaseCluster](f *Facts, list *[]T, document []byte) error {
	var named metav1.PartialObjectMetadata
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		return err
	}
	_ = yaml.Unmarshal(text, &named) // a name that cannot be read is missing from the message only
	object := named.Kind + " " + id(named.Namespace, named.Name)
	var read T
	unknown, err := json.UnmarshalStrict(text, &read)
	if err != nil {
		if field := badQuantity(text); field != "" {
			return fmt.Errorf("%s: %s", object, field)
		}
		if strings.Contains(err.Error(), "cannot unmarshal bool") {
			err = fmt.Errorf("%w (YAML reads On, Off, Yes and No as booleans unless they are in quotes)", err)
		}
		return fmt.Errorf("%s: %w", object, err)
	}
	for _, problem := range unknown {
		f.Misread = append(f.Misread, Finding{
			Severity: Error, Object: object, Found: problem.Error() + ": Kubernetes leaves it out",
			Fix: "correct its name or its place; kubectl explain " + strings.ToLower(named.Kind) + " --recursive lists all fields",
		})
	}
	*list = append(*list, read)
	return nil
}

// read reads one object of a kind that is not examined itself: what the API server would say of it
// is not said here.
func read[T corev1.Service | corev1.ConfigMap](list *[]T, document []byte) error {
	var named metav1.PartialObjectMetadata
	_ = yaml.Unmarshal(document, &named)
	var object T
	if err := yaml.Unmarshal(document, &object); err != nil {
		return fmt.Errorf("%s %s: %w", named.Kind, id(named.Namespace, named.Name), err)
	}
	*list = append(*list, object)
	return nil
}

// manifest returns the findings about unknown fields.
func manifest(f *Facts) []Finding { return f.Misread }
