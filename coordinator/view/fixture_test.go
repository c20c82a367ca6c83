package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// nodeName is a pod's name in the database, as Solr makes it.
func nodeName(pod string) string { return pod + ".search.prod:8983_solr" }

func address(pod string) string { return pod + ".search.prod:8983" }

// database is a healthy cluster of three pods in three zones with one shard
// books/s1 on all of them, led by the copy on search-0.
func database() *Input {
	in := &Input{
		Now: noon,
		Kube: kube.ClusterObjects{
			Cluster: &v1alpha1.DatabaseCluster{
				ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search", UID: "d0"},
				Spec:       model.Spec{Engine: model.Solr},
			},
			Pools: []kube.Pool{{
				Namespace: "prod", Name: "search", UID: "s0", Cluster: "search", Replicas: 3,
				Revision: "v2", Generation: 1, ObservedGeneration: 1, Strategy: "OnDelete", Management: "Parallel",
				Image: "solr:9.10.0",
			}},
			Nodes: map[string]kube.Node{},
		},
		Agents: agents.State{Reports: map[string]agents.Received{}},
	}
	for i := range 3 {
		node := fmt.Sprintf("node%d", i)
		in.Kube.Nodes[node] = kube.Node{Name: node, Labels: map[string]string{"topology.kubernetes.io/zone": fmt.Sprintf("z%d", i)}}
		in.Kube.Pods = append(in.Kube.Pods, kube.Pod{
			Namespace: "prod", Name: podName(i), UID: types.UID(fmt.Sprintf("u%d", i)), Pool: "search", Ordinal: i,
			Node: node, IP: fmt.Sprintf("10.0.0.%d", i), Revision: "v1", Guard: "closed",
			Phase: kube.Ready, Since: noon.Add(-time.Hour), Agent: true, Image: "solr:9.9.0",
		})
		in.Agents.Reports[fmt.Sprintf("u%d", i)] = agents.Received{Report: reportOf(i), At: noon.Add(-time.Second)}
	}
	return in
}

func podName(i int) string { return fmt.Sprintf("search-%d", i) }

// reportOf is what the i-th pod's agent says while all is well.
func reportOf(i int) *rollcallv1.Report {
	r := &rollcallv1.Report{
		Identity: &rollcallv1.Identity{Pod: podName(i), PodUid: fmt.Sprintf("u%d", i), Incarnation: 1},
		Engine:   "Solr", EngineVersion: "9.9.0", Node: nodeName(podName(i)),
		Member: live, Settled: true, SettledFor: durationpb.New(time.Minute),
		Verdict: rollcallv1.Verdict_VERDICT_GREEN, Drain: rollcallv1.Drain_DRAIN_NONE,
		Groups: []*rollcallv1.Group{{Id: "books/s1", Kind: rollcallv1.GroupKind_GROUP_KIND_SHARD, NeedsLeader: true}},
	}
	for j := range 3 {
		r.Nodes = append(r.Nodes, &rollcallv1.MemberNode{Name: nodeName(podName(j)), Address: address(podName(j)), Member: live})
		r.Groups[0].Members = append(r.Groups[0].Members, &rollcallv1.Member{
			Id: fmt.Sprintf("core%d", j), Node: nodeName(podName(j)), State: active, Leader: j == 0, Eligible: true,
		})
	}
	return r
}

const (
	live       = rollcallv1.Membership_MEMBERSHIP_LIVE
	notLive    = rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
	unsaid     = rollcallv1.Membership_MEMBERSHIP_UNSPECIFIED
	active     = rollcallv1.MemberState_MEMBER_STATE_ACTIVE
	recovering = rollcallv1.MemberState_MEMBER_STATE_RECOVERING
	moving     = rollcallv1.MemberState_MEMBER_STATE_MOVING
	down       = rollcallv1.MemberState_MEMBER_STATE_DOWN
	noState    = rollcallv1.MemberState_MEMBER_STATE_UNSPECIFIED
)

// edits of the healthy database; they are applied in order.
type edit func(*Input)

func made(edits ...edit) Input {
	in := database()
	for _, e := range edits {
		e(in)
	}
	return *in
}

// pod changes the i-th pod.
func editPod(i int, change func(*kube.Pod)) edit {
	return func(in *Input) {
		at := slices.IndexFunc(in.Kube.Pods, func(p kube.Pod) bool { return p.Ordinal == i })
		change(&in.Kube.Pods[at])
	}
}

// says changes the report of the i-th pod's agent.
func says(i int, change func(*rollcallv1.Report)) edit {
	return func(in *Input) { change(in.Agents.Reports[fmt.Sprintf("u%d", i)].Report) }
}

// allSay changes the reports of these pods' agents.
func allSay(pods []int, change func(*rollcallv1.Report)) edit {
	return func(in *Input) {
		for _, i := range pods {
			says(i, change)(in)
		}
	}
}

func observedAt(i int, at time.Time) edit {
	return func(in *Input) {
		uid := fmt.Sprintf("u%d", i)
		in.Agents.Reports[uid] = agents.Received{Report: in.Agents.Reports[uid].Report, At: at}
	}
}

func noReport(i int) edit {
	return func(in *Input) { delete(in.Agents.Reports, fmt.Sprintf("u%d", i)) }
}

// noAgent makes the i-th pod one that was there before Rollcall.
func noAgent(i int) edit {
	return func(in *Input) {
		noReport(i)(in)
		editPod(i, func(p *kube.Pod) { p.Agent = false })(in)
	}
}

func missing(i int) edit {
	return func(in *Input) {
		noReport(i)(in)
		in.Kube.Pods = slices.DeleteFunc(in.Kube.Pods, func(p kube.Pod) bool { return p.Ordinal == i })
	}
}

// sees sets how a report has the i-th pod's node; unsaid leaves it out.
func sees(i int, m rollcallv1.Membership) func(*rollcallv1.Report) {
	return func(r *rollcallv1.Report) {
		if m == unsaid {
			r.Nodes = slices.DeleteFunc(r.Nodes, func(n *rollcallv1.MemberNode) bool { return n.GetName() == nodeName(podName(i)) })
			return
		}
		r.Nodes[i].Member = m
	}
}

// forgets leaves the i-th pod, the last one, out of a report.
func forgets(i int) func(*rollcallv1.Report) {
	return func(r *rollcallv1.Report) {
		sees(i, unsaid)(r)
		r.Groups[0].Members = r.Groups[0].Members[:i]
	}
}

// unlisted: members need not know of each other.
func unlisted(in *Input) { in.Unlisted = true }

// inPlace: the primary keeps its role, and so the i-th agent says.
func inPlace(i int) edit {
	return func(in *Input) {
		in.Kube.Cluster.Spec.Update.Primary, in.Topologies = model.PrimaryRestartInPlace, true
		says(i, func(r *rollcallv1.Report) { r.Topology = rollcallv1.Topology_TOPOLOGY_FIXED_PRIMARY })(in)
	}
}

// hasCopy sets the state that a report gives to the copy on the i-th pod.
func hasCopy(i int, state rollcallv1.MemberState) func(*rollcallv1.Report) {
	return func(r *rollcallv1.Report) { r.Groups[0].Members[i].State = state }
}

func leads(i int) func(*rollcallv1.Report) {
	return func(r *rollcallv1.Report) {
		for j, m := range r.Groups[0].Members {
			m.Leader = i == j
		}
	}
}

// headline puts a roster in which search-0 tells of the i-th pod.
func headline(i int, change func(*rollcallv1.RosterEntry)) edit {
	return func(in *Input) {
		e := &rollcallv1.RosterEntry{
			Headline: &rollcallv1.Headline{
				Pod: podName(i), PodUid: fmt.Sprintf("u%d", i), Incarnation: 1, Sequence: 1,
				Member: live, Verdict: rollcallv1.Verdict_VERDICT_GREEN, Node: nodeName(podName(i)),
			},
			Liveness: rollcallv1.Liveness_LIVENESS_ALIVE,
		}
		change(e)
		in.Agents.Rosters = append(in.Agents.Rosters, agents.ReceivedRoster{
			Pod: "search-0", UID: "u0", At: noon, Roster: &rollcallv1.Roster{Entries: []*rollcallv1.RosterEntry{e}},
		})
	}
}

// summary is what tests compare: one line per pod, then groups and health.
//
//	search-0 Ready Live fresh settled
//	books/s1 core0@search-0=Active* core1@search-1=Active
//	Green
func summary(s model.Snapshot) string {
	var b strings.Builder
	for _, p := range s.Pods {
		fmt.Fprintf(&b, "%s %s", p.Name, p.Phase)
		if p.Problem != "" {
			fmt.Fprintf(&b, "(%s)", p.Problem)
		}
		if r := p.Report; r == nil {
			b.WriteString(" -")
		} else {
			fmt.Fprintf(&b, " %s", r.Member)
			if !r.Self {
				b.WriteString(" others")
			}
			if !r.Fresh {
				b.WriteString(" stale")
			}
			if !r.Settled {
				b.WriteString(" unsettled")
			}
		}
		b.WriteString("\n")
	}
	for _, g := range s.Groups {
		b.WriteString(g.ID)
		for _, m := range g.Members {
			fmt.Fprintf(&b, " %s@%s=%s", m.ID, m.Pod, m.State)
			if m.Leader {
				b.WriteString("*")
			}
		}
		b.WriteString("\n")
	}
	b.WriteString(string(s.Health.Verdict))
	if s.Health.Disagree != "" {
		b.WriteString(" disagree: " + s.Health.Disagree)
	}
	return b.String()
}

// Join is the snapshot alone.
func Join(in Input) model.Snapshot {
	s, _ := Look(in)
	return s
}
