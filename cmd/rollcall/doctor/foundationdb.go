package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// serverFlags are those of a process of FoundationDB that say where it is, by which the
// agent finds its own and the groups are made.
var serverFlags = []struct{ name, means string }{
	{"locality_instance_id", "the agent does not find the process of its own pod"},
	{"locality_zoneid", "FoundationDB takes each process for a zone of its own, and a pod whose zone is not known does not go"},
}

var (
	flagOf   = regexp.MustCompile(`--?([a-z]+(?:[_-][a-z]+)+)[= ]\s*("[^"]*"|'[^']*'|\S+)`)
	variable = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)
)

// server is the container of the pods that runs fdbserver, as far as its command line says so; nil
// means it is started by something else, whose settings cannot be seen.
func server(set *appsv1.StatefulSet) *corev1.Container {
	list := set.Spec.Template.Spec.Containers
	for i := range list {
		line := commandLine(&list[i])
		if strings.Contains(line, "fdbserver") || strings.Contains(line, "--locality") {
			return &list[i]
		}
	}
	return nil
}

func commandLine(c *corev1.Container) string {
	return strings.Join(slices.Concat(c.Command, c.Args), " ")
}

// flagsOf are the flags of a command line, with _ between their words.
func flagsOf(c *corev1.Container) map[string]string {
	flags := map[string]string{}
	for _, m := range flagOf.FindAllStringSubmatch(commandLine(c), -1) {
		flags[strings.ReplaceAll(m[1], "-", "_")] = strings.Trim(m[2], `"'`)
	}
	return flags
}

// processClass returns the class of a set's processes; empty means that none is set.
func processClass(set *appsv1.StatefulSet) string {
	c := server(set)
	if c == nil {
		return ""
	}
	words := strings.FieldsFunc(commandLine(c), func(r rune) bool { return r == ' ' || r == '=' })
	for i, w := range words[:max(0, len(words)-1)] {
		if w == "--class" || w == "-c" || w == "--process_class" {
			return words[i+1]
		}
	}
	return ""
}

// keepsData reports whether processes of the class have files that are not to be lost.
func keepsData(class string) bool {
	return slices.Contains([]string{"unset", "storage", "log", "transaction", "coordinator"}, class)
}

// copiesZones is the first Kubernetes that copies the zone of a node to the labels of its pods.
const copiesZones = "1.35.0"

// namedZone checks a zone that is a field of the pod: that it is not empty, and that policy.zoneKey
// means the same.
func (f *Facts) namedZone(set *appsv1.StatefulSet, c *corev1.Container, zone string) []Finding {
	m := variable.FindStringSubmatch(zone)
	if m == nil {
		return nil
	}
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == m[1] })
	if i < 0 || c.Env[i].ValueFrom == nil || c.Env[i].ValueFrom.FieldRef == nil {
		return nil
	}
	field := c.Env[i].ValueFrom.FieldRef.FieldPath
	label := strings.TrimSuffix(strings.TrimPrefix(field, "metadata.labels['"), "']")
	switch key := f.spec(set).Policy.ZoneKey; {
	case field == "spec.nodeName" && key == corev1.LabelTopologyZone && f.clusterOf(set) != nil:
		return one(Warning, fmt.Sprintf("--locality_zoneid of container %s is the name of its node, and policy.zoneKey is %s: Rollcall means all pods of a zone to go together, and FoundationDB counts each node as a zone", c.Name, key),
			"set policy.zoneKey: "+corev1.LabelHostname+", or have --locality_zoneid say the zone of the node")
	case label == corev1.LabelTopologyZone && set.Spec.Template.Labels[label] == "" && f.olderThan(copiesZones):
		return one(Warning, fmt.Sprintf("--locality_zoneid of container %s is the label %s of its pod, which Kubernetes sets from 1.35 on, and this is %s: unless something else sets it, the zone is empty, and no pod goes", c.Name, label, f.Live.Version),
			"have an init container write the zone of the node to a file, as deploy/docs/foundationdb.md shows, or use the node's name (spec.nodeName) with policy.zoneKey: "+corev1.LabelHostname)
	}
	return nil
}

// localities checks the localities, by which the agent finds its own process, and the groups what
// fails together.
func localities(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) (out []Finding) {
		if f.engine(set) != model.FoundationDB {
			return nil
		}
		c := server(set)
		if c == nil {
			return one(Info, "how fdbserver is started cannot be seen in its pod template",
				"see to it that fdbserver gets --locality_instance_id (the name of its pod), --locality_zoneid and, where coordinators have host names, --locality_dns_name")
		}
		flags := flagsOf(c)
		for _, flag := range serverFlags {
			value, there := flags[flag.name]
			if !there {
				out = append(out, Finding{Severity: Error, Found: fmt.Sprintf("container %s starts fdbserver without --%s: %s", c.Name, flag.name, flag.means),
					Fix: "add it as deploy/docs/foundationdb.md shows"})
				continue
			}
			for _, m := range variable.FindAllStringSubmatch(value, -1) {
				if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == m[1] }) && len(c.EnvFrom) == 0 {
					out = append(out, Finding{Severity: Error, Found: fmt.Sprintf("--%s of container %s is %s, and the container has no variable %s: all of its pods would say the same", flag.name, c.Name, value, m[1]),
						Fix: "add it to the container's env, from a field of the pod such as metadata.name"})
				}
			}
		}
		out = append(out, f.namedZone(set, c, flags["locality_zoneid"])...)
		if _, there := flags["locality_dns_name"]; !there {
			out = append(out, Finding{Severity: Warning, Found: fmt.Sprintf("container %s starts fdbserver without --locality_dns_name: where the cluster file names coordinators by host, it cannot be told which process such a coordinator is, and Rollcall holds", c.Name),
				Fix: "add --locality_dns_name=$(POD_NAME).SERVICE.NAMESPACE.svc.cluster.local, as the cluster file has it"})
		}
		return out
	})
}
