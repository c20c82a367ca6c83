package database

import (
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Chart are the paths in the values of the chart that made a StatefulSet. Empty paths are not
// known, and then only the field of the StatefulSet is named.
type Chart struct {
	// Name is that of the chart with its version, as its label says.
	Name string
	// Owner is the object of an operator whose fields these are, instead of values.
	Owner string
	// Configuration is the text of my.cnf, and Flags are arguments of the server.
	Configuration, Flags string
	// PodLabels and PodAnnotations are those of the pod template.
	PodLabels, PodAnnotations string
	// Partition is the partition of the update strategy, and OnDelete what makes that strategy
	// OnDelete, with its value.
	Partition, OnDelete string
	// Grace is the grace period.
	Grace string
	// Management is the podManagementPolicy.
	Management string
	// Budget is what the chart makes no PodDisruptionBudget with, with its value.
	Budget string
	// Secret names a Secret with the passwords that the chart otherwise makes up.
	Secret string
	// Claims means that what is in PodLabels is also among the labels of the volumeClaimTemplates.
	Claims bool
}

// Known reports whether the chart's values are known.
func (c Chart) Known() bool { return c.PodLabels != "" }

// Value returns where something is set, and what that is a path of: the values of the chart, or
// nothing where it is the field of the StatefulSet.
func (c Chart) Value(path, field string) (at, of string) {
	switch {
	case path == "":
		return field, ""
	case c.Owner != "":
		return path, " of " + c.Owner
	}
	return path, " in the values of chart " + c.Name
}

var chartVersion = regexp.MustCompile(`-[0-9]+\.[0-9]+.*$`)

const chartLabel = "helm.sh/chart"

// ChartOf returns what is known of the chart of a StatefulSet. The label has only the chart's name,
// which charts of several publishers share, so that each is told by something else, too.
func ChartOf(set *appsv1.StatefulSet) Chart {
	named := set.Labels[chartLabel]
	if named == "" {
		named = set.Spec.Template.Labels[chartLabel]
	}
	container := Container(&set.Spec.Template)
	if owner := metav1.GetControllerOfNoCopy(set); owner != nil && owner.Kind == "SolrCloud" {
		of := "spec.customSolrKubeOptions.podOptions."
		return Chart{Owner: "SolrCloud " + owner.Name, PodLabels: of + "labels", PodAnnotations: of + "annotations", Grace: of + "terminationGracePeriodSeconds"}
	}
	if named == "" || container == nil {
		return Chart{Name: named}
	}
	c := Chart{}
	name := chartVersion.ReplaceAllString(named, "")
	switch {
	case hasEnv(container, "BITNAMI_DEBUG"):
		c = bitnami(name, set)
	case name == "opensearch" && hasEnv(container, "discovery.seed_hosts"):
		// The chart has one set of labels for the StatefulSet, its pods and, if asked for, its claims.
		c = Chart{PodLabels: "labels", PodAnnotations: "podAnnotations", OnDelete: "updateStrategy: OnDelete", Grace: "terminationGracePeriod", Management: "podManagementPolicy", Budget: "maxUnavailable: null",
			Claims: claimsHave(set, chartLabel)}
	case name == "mariadb" && slices.ContainsFunc(set.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "galera-config-rw" }):
		c = Chart{Configuration: "config.customConfiguration", PodLabels: "podLabels", PodAnnotations: "podAnnotations", Claims: claimsHave(set, "app.kubernetes.io/name")}
	}
	c.Name = named
	return c
}

// bitnami are the values of Bitnami's charts, which have those of each StatefulSet under its own key.
func bitnami(name string, set *appsv1.StatefulSet) Chart {
	of := ""
	component := set.Spec.Template.Labels["app.kubernetes.io/component"]
	switch name {
	case "mysql", "mariadb":
		of = map[bool]string{true: "secondary.", false: "primary."}[component == "secondary"]
	case "opensearch":
		if of = strings.TrimSuffix(component, "-only") + "."; !slices.Contains([]string{"master.", "data.", "coordinating.", "ingest."}, of) {
			return Chart{}
		}
	case "mariadb-galera", "solr", "zookeeper":
	default:
		return Chart{}
	}
	c := Chart{
		PodLabels: of + "podLabels", PodAnnotations: of + "podAnnotations", Partition: of + "updateStrategy.rollingUpdate.partition",
		Management: of + "podManagementPolicy", Budget: of + "pdb.create: false",
	}
	switch name {
	case "mysql", "mariadb":
		c.Configuration, c.Flags, c.Secret = of+"configuration", of+"extraFlags", "auth.existingSecret"
	case "mariadb-galera": // its values have only the kind of the strategy
		c.Configuration, c.Flags, c.Secret = "mariadbConfiguration", "extraFlags", "existingSecret"
		c.Partition, c.OnDelete = "", "updateStrategy.type: OnDelete"
	case "solr":
		c.Secret = "auth.existingSecret"
	case "opensearch":
		c.Secret = "security.existingSecret"
	}
	return c
}

func hasEnv(c *corev1.Container, name string) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name })
}

func claimsHave(set *appsv1.StatefulSet, label string) bool {
	return slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { _, there := c.Labels[label]; return there })
}
