package enroll

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Left returns what a person still has to do, with the commands of the program under its current
// name. Pods are those of the namespace, as far as they could be read.
func (p *Plan) Left(program string, pods []corev1.Pod) string {
	var steps []string
	switch {
	case p.Cluster.Spec.Update.Mode == model.ModeObserve:
		steps = p.leftToObserve(program)
	default:
		steps = p.leftToAdopt(program, pods)
	}
	if len(steps) == 0 {
		return fmt.Sprintf("Nothing is left to do: each change of its StatefulSets is rolled from now on.\n\n        %s status %s -n %s\n", program, p.Name, p.Namespace)
	}
	text := "Left to do, in this order:\n"
	for i, s := range steps {
		text += fmt.Sprintf("\n%2d. %s", i+1, s)
	}
	return text
}

// step is a sentence of some lines and what is typed.
func step(typed string, lines ...string) string {
	return strings.Join(lines, "\n    ") + "\n\n        " + strings.ReplaceAll(typed, "\n", "\n        ") + "\n"
}

func (p *Plan) leftToObserve(program string) []string {
	look := []string{"See what Rollcall would do."}
	if slices.ContainsFunc(p.Sets, func(s appsv1.StatefulSet) bool { return rolls(&s) }) {
		look = []string{
			"See what Rollcall would do. Nothing is guarded in this mode: keep the label out of the",
			"pod template, or Kubernetes rolls that change by itself.",
		}
	}
	return []string{
		step(fmt.Sprintf("%s plan %s -n %s", program, p.Name, p.Namespace), look...),
		step(fmt.Sprintf(`kubectl -n %s patch dbc %s --type=merge -p '{"spec":{"update":{"mode":"Auto"}}}'`, p.Namespace, p.Name), "Let it act."),
		step(p.again(program), "Wait until its pods are guarded; this says what is left then."),
	}
}

// again returns the command that continues where this one ended.
func (p *Plan) again(program string) string {
	var names []string
	for i := range p.Sets {
		names = append(names, p.Sets[i].Name)
	}
	return fmt.Sprintf("%s enroll %s -n %s", program, strings.Join(names, " "), p.Namespace)
}

func (p *Plan) leftToAdopt(program string, pods []corev1.Pod) (steps []string) {
	unlabelled := func(s *appsv1.StatefulSet) bool { return s.Spec.Template.Labels[v1alpha1.LabelCluster] == "" }
	if sets := p.which(func(s *appsv1.StatefulSet) bool { return unlabelled(s) && !database.ChartOf(s).Claims }); sets != "" {
		lines := []string{"Put the label into the pod template of " + sets + ",", "by the values of the chart, and upgrade the release. Rollcall holds that change until", "you approve it."}
		steps = append(steps, step(p.labelValues(), append(lines, p.partitions()...)...))
	}
	if sets := p.which(func(s *appsv1.StatefulSet) bool { return unlabelled(s) && database.ChartOf(s).Claims }); sets != "" {
		steps = append(steps, step(p.labelPatches(), "Put the label into the pod template of "+sets+".", "Not by the values: the chart has it in spec.volumeClaimTemplates, too, which nobody can", "change, and the upgrade would be refused. Upgrades leave what is patched as it is."))
	}
	if len(steps) == 0 && p.allAgents(pods) {
		return nil
	}
	approve := fmt.Sprintf("%s approve %s -n %s --what adopt", program, p.Name, p.Namespace)
	follow := fmt.Sprintf("%s status %s -n %s --wait --timeout 1h", program, p.Name, p.Namespace)
	const once = "Let Rollcall restart each pod once, one at a time, for its agent."
	switch {
	case p.Topology == model.TopologySingleServer && p.Cluster.Spec.Update.Primary == model.PrimaryHold:
		return append(steps, step(approve, "Let Rollcall restart the pod once for its agent: nobody can read or write meanwhile.", "It waits until spec.update.primary is RestartInPlace."), step(follow, "Follow it to its end."))
	case p.Topology == model.TopologySingleServer:
		return append(steps, step(approve, "Let Rollcall restart the pod once for its agent: nobody can read or write meanwhile."), step(follow, "Follow it to its end."))
	case p.Cluster.Spec.Engine == model.FoundationDB:
		lines := []string{"Let Rollcall restart each pod once for its agent. One pod at a time with policy.unit: Pod and", "policy.maxUnavailable: 1, else as many as the policy lets go:", "deploy/docs/foundationdb.md#the-first-rollout"}
		return append(steps, step(approve, lines...), step(follow, "Follow it to its end."))
	case p.Topology == "" || p.Topology == model.TopologyGalera:
		return append(steps, step(approve, once), step(follow, "Follow it to its end."))
	case p.Topology == model.TopologyGroupReplication:
		return append(steps, step(approve, once, "The group elects another primary when the pod of its primary restarts."), step(follow, "Follow it to its end."))
	case p.adoptsInPlace():
		primary := "the primary"
		if p.primaryPod != "" {
			primary += ", " + p.primaryPod + ","
		}
		return append(steps, step(approve, once, "Replicas go first. Nobody can write while "+primary+" restarts, last."), step(follow, "Follow it to its end."))
	}
	lines := []string{"Delete the primary's pod: nobody can write for 10 to 20 seconds. With less than one, by moving", "its role by hand: deploy/docs/mysql.md#move-the-role-by-hand"}
	steps = append(steps, step(approve, once, "Before you do, see that "+p.first()+", which goes first, is not the primary."))
	return append(steps,
		step(follow, "Follow it until the primary is the only one left (veto, \"which has no agent\"), and end it with Ctrl-C."),
		step(fmt.Sprintf("kubectl -n %[1]s label pod %[4]s rollcall.dev/guard=open --overwrite\nkubectl -n %[1]s delete pod %[4]s\n%[2]s status %[3]s -n %[1]s --wait", p.Namespace, program, p.Name, "PRIMARY"), lines...))
}

// adoptsInPlace reports whether the primary gets its agent without a handover.
func (p *Plan) adoptsInPlace() bool {
	return p.Cluster.Spec.Update.Primary == model.PrimaryRestartInPlace
}

// partitions are lines about partitions that only the objects have.
func (p *Plan) partitions() (lines []string) {
	if patched := p.which(func(s *appsv1.StatefulSet) bool { return p.named(s) && database.ChartOf(s).OnDelete == "" }); patched != "" {
		lines = append(lines, "Have the chart name the partition of "+patched+", too,", "which only the object has so far: "+p.partitionValues()+".")
	}
	if kept := p.which(func(s *appsv1.StatefulSet) bool { return p.named(s) && database.ChartOf(s).OnDelete != "" }); kept != "" {
		lines = append(lines, "The chart of "+kept+" cannot name the partition, and leaves it as it is.")
	}
	return lines
}

// labelPatches returns the commands that put the label into the pod templates of charts that must not
// have it in their values.
func (p *Plan) labelPatches() string {
	var typed []string
	for i := range p.Sets {
		if set := &p.Sets[i]; database.ChartOf(set).Claims && set.Spec.Template.Labels[v1alpha1.LabelCluster] == "" {
			typed = append(typed, fmt.Sprintf(`kubectl -n %s patch statefulset %s -p '{"spec":{"template":{"metadata":{"labels":{"%s":"%s"}}}}}'`, p.Namespace, set.Name, v1alpha1.LabelCluster, p.Name))
		}
	}
	return strings.Join(typed, "\n")
}

// labelValues returns the label as the values of the charts have it, or as the pod template has it
// where they are not known.
func (p *Plan) labelValues() string {
	label := v1alpha1.LabelCluster + ": " + asYAML(p.Name)
	var known []string
	for i := range p.Sets {
		chart := database.ChartOf(&p.Sets[i])
		if chart.Claims {
			continue
		}
		path := chart.PodLabels
		if path == "" {
			path = "metadata.labels"
		}
		text := ""
		for depth, key := range append(strings.Split(path, "."), "") {
			indent := strings.Repeat("  ", depth)
			switch {
			case key == "":
				text += indent + label
			case depth == 0 && chart.PodLabels == "":
				text += key + ":    # of the pod template\n"
			default:
				text += indent + key + ":\n"
			}
		}
		known = append(known, text)
	}
	slices.Sort(known)
	return strings.Join(slices.Compact(known), "\n")
}

// partitionValues are the partitions as the values of the charts have them.
func (p *Plan) partitionValues() string {
	var values []string
	for i := range p.Sets {
		if p.named(&p.Sets[i]) {
			chart := database.ChartOf(&p.Sets[i])
			if chart.OnDelete == "" {
				at, _ := chart.Value(chart.Partition, "spec.updateStrategy.rollingUpdate.partition")
				values = append(values, at+": 0")
			}
		}
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), " and ")
}

// which StatefulSets are meant, in words; empty means none.
func (p *Plan) which(is func(*appsv1.StatefulSet) bool) string {
	var names []string
	for i := range p.Sets {
		if is(&p.Sets[i]) {
			names = append(names, "StatefulSet "+p.Sets[i].Name)
		}
	}
	return strings.Join(names, " and ")
}

// FieldManager is the author that the API server records for writes.
const FieldManager = "rollcall"

// named reports whether its partition is from here alone, now or in an earlier run; no chart has
// named it since.
func (p *Plan) named(set *appsv1.StatefulSet) bool {
	if p.wantsPartition(set) {
		return true
	}
	ours, theirs := false, false
	for _, m := range set.ManagedFields {
		if m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:partition"`) {
			ours, theirs = ours || m.Manager == FieldManager, theirs || m.Manager != FieldManager
		}
	}
	return ours && !theirs
}

// allAgents reports whether each pod that can be seen has an agent.
func (p *Plan) allAgents(pods []corev1.Pod) bool {
	seen := 0
	for i := range pods {
		pod := &pods[i]
		if !slices.ContainsFunc(p.Sets, func(s appsv1.StatefulSet) bool { return doctor.Owned(pod, &s) }) {
			continue
		}
		if seen++; !kube.HasAgent(&pod.Spec) {
			return false
		}
	}
	return seen > 0
}

// first is the pod of the highest ordinal.
func (p *Plan) first() string {
	var names []string
	for i := range p.Sets {
		set, last := &p.Sets[i], int32(0)
		if set.Spec.Replicas != nil {
			last = max(*set.Spec.Replicas-1, 0)
		}
		if set.Spec.Ordinals != nil {
			last += set.Spec.Ordinals.Start
		}
		names = append(names, fmt.Sprintf("%s-%d", set.Name, last))
	}
	return strings.Join(names, " or ")
}

// asYAML quotes a name that would be read as something else, such as on.
func asYAML(name string) string {
	text, err := yaml.Marshal(name)
	if err != nil {
		return name // a text always has a YAML form
	}
	return strings.TrimSpace(string(text))
}
