// Package manifests holds the databases of the end-to-end tests as charts render
// them, and what users and tests change in them.
package manifests

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

const (
	// ClusterLabel is what a user adds to a chart.
	ClusterLabel = "rollcall.dev/cluster"
	// Changed is an annotation of the pod template that means nothing.
	Changed = "example.com/change"
)

// Label says on the StatefulSet to which DatabaseCluster it belongs.
func Label(set *appsv1.StatefulSet, cluster string) {
	if set.Labels == nil {
		set.Labels = map[string]string{}
	}
	set.Labels[ClusterLabel] = cluster
}

// LabelAll says it on the StatefulSet and in its pod template, so that its pods get agents.
func LabelAll(set *appsv1.StatefulSet, cluster string) {
	Label(set, cluster)
	set.Spec.Template.Labels[ClusterLabel] = cluster
}

// Annotate changes the pod template in a way that only restarts.
func Annotate(set *appsv1.StatefulSet, value string) {
	if set.Spec.Template.Annotations == nil {
		set.Spec.Template.Annotations = map[string]string{}
	}
	set.Spec.Template.Annotations[Changed] = value
}

// Edit changes the named StatefulSets and leaves every other document alone. All
// of them must be there.
func Edit(manifest string, edit func(*appsv1.StatefulSet), names ...string) (string, error) {
	docs := strings.Split(manifest, "\n---\n")
	found := map[string]bool{}
	for i, doc := range docs {
		var set appsv1.StatefulSet
		if err := yaml.Unmarshal([]byte(doc), &set); err != nil {
			return "", fmt.Errorf("document %d: %w", i+1, err)
		}
		if set.Kind != "StatefulSet" || !slices.Contains(names, set.Name) {
			continue
		}
		found[set.Name] = true
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
	for _, name := range names {
		if !found[name] {
			return "", fmt.Errorf("there is no StatefulSet %s", name)
		}
	}
	return strings.Join(docs, "\n---\n"), nil
}

// Without leaves out the documents of a kind.
func Without(manifest, kind string) (string, error) {
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
