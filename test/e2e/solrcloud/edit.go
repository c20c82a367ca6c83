package solrcloud

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// ClusterLabel is what a user adds to a chart.
const ClusterLabel = "rollcall.dev/cluster"

// Labelled is a chart with the label in the StatefulSet and in its pod template.
func Labelled(set *appsv1.StatefulSet) {
	LabelledSet(set)
	set.Spec.Template.Labels[ClusterLabel] = Name
}

// RollingUpdate is a chart with Kubernetes' own way of updating.
func RollingUpdate(set *appsv1.StatefulSet) {
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
}

// LabelledSet is the first step of an adoption: the label on the StatefulSet,
// which restarts nothing.
func LabelledSet(set *appsv1.StatefulSet) {
	if set.Labels == nil {
		set.Labels = map[string]string{}
	}
	set.Labels[ClusterLabel] = Name
}

// Tag changes the version of the database.
func Tag(tag string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.Containers[0].Image = image(tag) }
}

// Line names the partition.
func Line(partition int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
	}
}

// Annotated changes the pod template in a way that only restarts.
func Annotated(value string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		if set.Spec.Template.Annotations == nil {
			set.Spec.Template.Annotations = map[string]string{}
		}
		set.Spec.Template.Annotations[changed] = value
	}
}

// without leaves out the documents of a kind.
func without(manifest, kind string) (string, error) {
	var kept []string
	for i, doc := range strings.Split(manifest, "\n---\n") {
		var head struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			return "", fmt.Errorf("document %d: %w", i+1, err)
		}
		if head.Kind != kind {
			kept = append(kept, doc)
		}
	}
	return strings.Join(kept, "\n---\n"), nil
}

// FromZero names the partition that Kubernetes would take, were the strategy left out.
func FromZero(set *appsv1.StatefulSet) {
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32)}
}

// editStatefulSet changes the StatefulSet of the database and leaves every other document alone.
func editStatefulSet(manifest string, edit func(*appsv1.StatefulSet)) (string, error) {
	docs := strings.Split(manifest, "\n---\n")
	found := false
	for i, doc := range docs {
		var set appsv1.StatefulSet
		if err := yaml.Unmarshal([]byte(doc), &set); err != nil {
			return "", fmt.Errorf("document %d: %w", i+1, err)
		}
		if set.Kind != "StatefulSet" || set.Name != Name {
			continue
		}
		found = true
		if edit == nil {
			continue
		}
		edit(&set)
		text, err := yaml.Marshal(set)
		if err != nil {
			return "", err
		}
		docs[i] = string(text)
	}
	if !found {
		return "", fmt.Errorf("there is no StatefulSet %s", Name)
	}
	return strings.Join(docs, "\n---\n"), nil
}
