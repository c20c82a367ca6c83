package database

import (
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Chart are the paths in the values of the chart that made a StatefulSet. Empty paths are not
// known, and then only the setting itself is named.
type Chart struct {
	// Name is that of the chart with its version, as its label says.
	Name string
	// Configuration is the text of my.cnf, and Flags are arguments of the server.
	Configuration, Flags string
	// PodLabels and PodAnnotations are those of the pod template.
	PodLabels, PodAnnotations string
	// Budget turns the chart's PodDisruptionBudget off.
	Budget string
}

// Of returns the path of a value that charts have for each of their StatefulSets, such as
// primary.updateStrategy.
func (c Chart) Of(path string) string { return strings.TrimSuffix(c.PodLabels, "podLabels") + path }

var chartVersion = regexp.MustCompile(`-[0-9]+\.[0-9]+.*$`)

// ChartOf returns what is known of the chart of a StatefulSet.
func ChartOf(set *appsv1.StatefulSet) Chart {
	named := set.Labels["helm.sh/chart"]
	if named == "" {
		named = set.Spec.Template.Labels["helm.sh/chart"]
	}
	c := Chart{Name: named}
	container := Container(&set.Spec.Template)
	if named == "" || container == nil {
		return c
	}
	name := chartVersion.ReplaceAllString(named, "")
	// The label has only the chart's name, which charts of several publishers share.
	bitnami := slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == "BITNAMI_DEBUG" })
	cloudpirates := slices.ContainsFunc(set.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "galera-config-rw" })
	switch {
	case bitnami && (name == "mysql" || name == "mariadb"):
		of := "primary."
		if set.Spec.Template.Labels["app.kubernetes.io/component"] == "secondary" {
			of = "secondary."
		}
		c.Configuration, c.Flags, c.PodLabels, c.PodAnnotations, c.Budget = of+"configuration", of+"extraFlags", of+"podLabels", of+"podAnnotations", of+"pdb.create"
	case bitnami && name == "mariadb-galera":
		c.Configuration, c.Flags, c.PodLabels, c.PodAnnotations, c.Budget = "mariadbConfiguration", "extraFlags", "podLabels", "podAnnotations", "pdb.create"
	case cloudpirates && name == "mariadb":
		c.Configuration, c.PodLabels, c.PodAnnotations = "config.customConfiguration", "podLabels", "podAnnotations"
	}
	return c
}
