package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestJoin is the table of who is believed about what. Lines that are as in the
// healthy database are left out of want.
func TestJoin(t *testing.T) {
	healthy := strings.Split(summary(Join(made())), "\n")
	require.Equal(t, []string{
		"search-0 Ready Live",
		"search-1 Ready Live",
		"search-2 Ready Live",
		"books/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Active",
		"Green",
	}, healthy)

	both := []int{0, 1}
	tests := []struct {
		name  string
		edits []edit
		want  string
	}{
		// A pod's own word, and how old it may be.
		{"observed before the barrier", []edit{func(in *Input) { in.Barrier = noon }, observedAt(0, noon), observedAt(1, noon)},
			"search-2 Ready Live stale"},
		{"observed at the limit of age", []edit{observedAt(2, noon.Add(-DefaultMaxAge))}, ""},
		{"too old: its good news is none", []edit{observedAt(2, noon.Add(-DefaultMaxAge-1))}, "search-2 Ready Unknown stale"},
		{"too old: its bad news stays", []edit{observedAt(2, noon.Add(-time.Hour)), says(2, func(r *rollcallv1.Report) { r.Member = notLive })},
			"search-2 Ready NotLive stale\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Unknown"},
		{"cannot be dated", []edit{observedAt(2, time.Time{})}, "search-2 Ready Unknown stale"},
		{"the agent learned nothing", []edit{says(2, func(r *rollcallv1.Report) { r.Error = "connection refused" })},
			"search-2 Ready Unknown unsettled"},
		{"no report", []edit{noReport(2)}, "search-2 Ready -"},
		{"not live by its own word", []edit{says(2, func(r *rollcallv1.Report) { r.Member = notLive; r.Settled = false })},
			"search-2 Ready NotLive unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Unknown"},
		{"not said whether it is live", []edit{says(2, func(r *rollcallv1.Report) { r.Member = unsaid })},
			"search-2 Ready Unknown"},

		// What the others say.
		{"the others do not have it", []edit{allSay(both, sees(2, notLive)), allSay(both, hasCopy(2, down))},
			"search-2 Ready Unknown\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Unknown"},
		{"the others have never heard of it", []edit{allSay(both, sees(2, unsaid))}, "search-2 Ready Unknown"},
		{"a minority view makes that pod unavailable", []edit{says(2, sees(0, notLive)), says(2, sees(1, notLive)), says(2, hasCopy(0, down))},
			"search-2 Ready Unknown"},
		{"no majority", []edit{says(0, sees(1, notLive)), noReport(2)},
			"search-1 Ready Unknown\nsearch-2 Ready -\nGreen disagree: 1 of 2 agents say that search-1 is live, 1 that it is not"},
		{"who sees a new member first is not wrong", []edit{says(0, func(r *rollcallv1.Report) {
			r.Nodes = append(r.Nodes, &rollcallv1.MemberNode{Name: "elsewhere:8983_solr", Member: live})
		})}, ""},
		{"a pod that has just come need not be seen by all", []edit{says(2, sees(1, notLive)),
			editPod(1, func(p *kube.Pod) { p.Since = noon.Add(-DefaultMaxAge + 1) })}, ""},
		{"a pod that is on its way down need not be", []edit{says(2, sees(1, notLive)), editPod(1, func(p *kube.Pod) { p.Phase = kube.Started })},
			"search-1 Started Live"},
		{"a stale view is no witness", []edit{observedAt(2, noon.Add(-time.Minute)), says(2, sees(0, notLive)), says(2, hasCopy(0, down))},
			"search-2 Ready Unknown stale"},

		// Groups.
		{"the worst state counts", []edit{says(0, hasCopy(1, recovering))},
			"books/s1 core0@search-0=Active* core1@search-1=Recovering core2@search-2=Active"},
		{"moving is worse than active", []edit{says(0, hasCopy(1, moving))},
			"books/s1 core0@search-0=Active* core1@search-1=Moving core2@search-2=Active"},
		{"down beats recovering", []edit{says(0, hasCopy(1, down)), allSay([]int{1, 2}, hasCopy(1, recovering)), says(1, hasCopy(1, down))},
			"books/s1 core0@search-0=Active* core1@search-1=Down core2@search-2=Active"},
		{"down against its own pod's word is unknown", []edit{says(0, hasCopy(1, down))},
			"books/s1 core0@search-0=Active* core1@search-1=Unknown core2@search-2=Active"},
		{"unknown stays unknown", []edit{says(0, hasCopy(1, noState))},
			"books/s1 core0@search-0=Active* core1@search-1=Unknown core2@search-2=Active"},
		{"a member that not all list", []edit{says(0, func(r *rollcallv1.Report) { r.Groups[0].Members = r.Groups[0].Members[:2] })},
			"books/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Unknown"},
		{"a majority outvotes who has another leader", []edit{says(2, leads(2))}, "search-2 Ready Unknown"},
		{"leadership is taken from nobody's word alone", []edit{says(0, leads(1)), noReport(2)},
			"search-2 Ready -\nbooks/s1 core0@search-0=Active core1@search-1=Active core2@search-2=Active\nGreen disagree: who leads books/s1"},
		{"handed over: both parties say so, and who does not has not looked since", []edit{
			allSay(both, leads(1)), observedAt(0, noon), observedAt(1, noon)},
			"books/s1 core0@search-0=Active core1@search-1=Active* core2@search-2=Active"},
		{"handed over: the new leader says so last, the old one not yet", []edit{
			says(1, leads(1)), observedAt(1, noon)}, "search-1 Ready Unknown"},
		{"lost: the old leader no longer runs", []edit{missing(0), says(1, leads(1)), observedAt(1, noon)},
			"search-0 Missing -\nbooks/s1 core0@search-0=Down core1@search-1=Active* core2@search-2=Active"},
		{"who looked later and disagrees is no latecomer", []edit{allSay(both, leads(1)), observedAt(2, noon)},
			"search-2 Ready Unknown\nbooks/s1 core0@search-0=Active core1@search-1=Active* core2@search-2=Active"},
		{"all agree on two leaders", []edit{allSay([]int{0, 1, 2}, func(r *rollcallv1.Report) { r.Groups[0].Members[1].Leader = true })},
			"books/s1 core0@search-0=Active* core1@search-1=Active* core2@search-2=Active"},
		{"of a group of which only stale reports tell, bad news is kept", []edit{
			func(in *Input) { in.Barrier = noon }, allSay([]int{0, 1, 2}, hasCopy(1, recovering))},
			"search-0 Ready Live stale\nsearch-1 Ready Live stale\nsearch-2 Ready Live stale\n" +
				"books/s1 core0@search-0=Unknown core1@search-1=Recovering core2@search-2=Unknown\nUnknown"},

		// Pods that do not run.
		{"a missing pod's copies are down whatever the database says", []edit{missing(2)},
			"search-2 Missing -\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Down"},
		{"so are those of one that never started", []edit{noReport(2), editPod(2, func(p *kube.Pod) { p.Phase = kube.NotStarted })},
			"search-2 NotStarted -\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Down"},
		{"those of one that crashes are unknown until the database has seen it", []edit{noReport(2), editPod(2, func(p *kube.Pod) { p.Phase, p.Problem = kube.Failed, kube.CrashLoop })},
			"search-2 Failed(CrashLoop) -\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Unknown"},
		{"a report of a pod that no longer runs is no witness", []edit{
			editPod(2, func(p *kube.Pod) { p.Phase = kube.Failed }), says(2, leads(2))},
			"search-2 Failed Live\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Unknown"},
		{"on a node that is gone", []edit{func(in *Input) { delete(in.Kube.Nodes, "node2") }}, "search-2 Ready(NodeGone) Live"},
		{"a new pod of the same name: the old one's report is not its own", []edit{
			editPod(2, func(p *kube.Pod) { p.UID, p.Phase = "u2-new", kube.Started })},
			"search-2 Started -"},

		// Adoption.
		{"the others speak for a pod without an agent", []edit{noAgent(2)}, "search-2 Ready Live others"},
		{"found by its IP", []edit{noAgent(2), allSay(both, func(r *rollcallv1.Report) { r.Nodes[2].Address = "10.0.0.2:8983" })},
			"search-2 Ready Live others"},
		{"found by nothing: hosted elsewhere, and nobody speaks for it", []edit{noAgent(2),
			allSay(both, func(r *rollcallv1.Report) { r.Nodes[2].Address = "lb.example:80" })},
			"search-2 Ready Unknown others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@=Active"},
		{"another pod's name that begins the same is not its own", []edit{noAgent(2),
			allSay(both, func(r *rollcallv1.Report) { r.Nodes[2].Address = "search-20.search.prod:8983" })},
			"search-2 Ready Unknown others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@=Active"},
		{"nobody lists it, as nobody need: Ready is all there is", []edit{noAgent(2), unlisted, allSay(both, forgets(2)), allSay(both, leads(-1))},
			"search-2 Ready Live others\nbooks/s1 core0@search-0=Active core1@search-1=Active"},
		{"nobody lists it, beside the agent of who leads", []edit{noAgent(2), unlisted, allSay(both, forgets(2))},
			"search-2 Ready NotLive others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active"},
		{"the same where its primary restarts in place", []edit{noAgent(2), unlisted, inPlace(0), allSay(both, forgets(2))},
			"search-2 Ready Unknown others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active"},
		{"listed there as not live", []edit{noAgent(2), unlisted, inPlace(0), allSay(both, sees(2, notLive)), allSay(both, hasCopy(2, down))},
			"search-2 Ready NotLive others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Down"},
		{"the same of one that is not Ready", []edit{noAgent(2), unlisted, allSay(both, forgets(2)), allSay(both, leads(-1)), editPod(2, func(p *kube.Pod) { p.Phase = kube.Started })},
			"search-2 Started NotLive others unsettled\nbooks/s1 core0@search-0=Active core1@search-1=Active"},
		{"the same where all members know each other", []edit{noAgent(2), allSay(both, forgets(2))},
			"search-2 Ready Unknown others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active"},
		{"one that some list, and not as live", []edit{noAgent(2), unlisted, allSay(both, sees(2, notLive)), allSay(both, hasCopy(2, down))},
			"search-2 Ready NotLive others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Down"},
		{"the others do not have it as live", []edit{noAgent(2), allSay(both, sees(2, notLive)), allSay(both, hasCopy(2, down))},
			"search-2 Ready NotLive others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Down"},
		{"one of two is no majority", []edit{noAgent(2), says(0, sees(2, notLive)), says(0, hasCopy(2, down))},
			"search-2 Ready Unknown others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Down\n" +
				"Green disagree: 1 of 2 agents say that search-2 is live, 1 that it is not"},
		{"settled when all that it hosts is active", []edit{noAgent(2), allSay(both, hasCopy(2, recovering))},
			"search-2 Ready Live others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Recovering"},
		{"nobody has an agent: nobody is asked", []edit{noAgent(0), noAgent(1), noAgent(2)},
			"search-0 Ready -\nsearch-1 Ready -\nsearch-2 Ready -\n!books/s1\nUnknown"},
		{"two living names for one pod", []edit{noAgent(2), allSay(both, func(r *rollcallv1.Report) {
			r.Nodes = append(r.Nodes, &rollcallv1.MemberNode{Name: "other", Address: "search-2.search.test:8983", Member: live})
		})}, "search-2 Ready Unknown others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Unknown"},
		{"a dead earlier name beside the living one", []edit{noAgent(2), allSay(both, func(r *rollcallv1.Report) {
			r.Nodes = append(r.Nodes, &rollcallv1.MemberNode{Name: "earlier", Address: "search-2.search.prod:7574", Member: notLive})
		})}, "search-2 Ready Live others"},

		// Names.
		{"an IP that was another pod's: the own report decides", []edit{noAgent(2),
			allSay(both, func(r *rollcallv1.Report) {
				r.Nodes[1].Address = "10.0.0.2:8983"
				r.Nodes[2].Address = "elsewhere:8983"
			})},
			"search-2 Ready Unknown others unsettled\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@=Active"},
		{"two pods say that they are one node", []edit{says(2, func(r *rollcallv1.Report) { r.Node = nodeName("search-1") })},
			"search-1 Ready Unknown\nsearch-2 Ready Unknown\n" +
				"books/s1 core0@search-0=Active* core1@search-1=Unknown core2@search-2=Unknown"},
		{"two pods say that they are one node, and nobody knows of another one", []edit{
			says(2, func(r *rollcallv1.Report) { r.Node = nodeName("search-1") }),
			allSay([]int{0, 1, 2}, func(r *rollcallv1.Report) { r.Nodes, r.Groups[0].Members = r.Nodes[:2], r.Groups[0].Members[:2] })},
			"search-1 Ready Unknown\nsearch-2 Ready Unknown\nbooks/s1 core0@search-0=Active* core1@search-1=Unknown"},
		{"a fresh report's name beats a stale one's", []edit{
			says(2, func(r *rollcallv1.Report) { r.Node = nodeName("search-1") }), observedAt(2, noon.Add(-time.Minute))},
			"search-2 Ready Unknown stale\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Active"},
		{"a node that was renamed: members under the new name are the pod's", []edit{
			allSay([]int{0, 1, 2}, func(r *rollcallv1.Report) { r.Nodes[2].Name = "new"; r.Groups[0].Members[2].Node = "new" }),
			says(2, func(r *rollcallv1.Report) { r.Node = "new" })}, ""},
		{"a missing pod is found by what the gossip remembers", []edit{missing(2),
			allSay(both, func(r *rollcallv1.Report) { r.Nodes[2].Address = "10.9.9.9:8983" }),
			headline(2, func(e *rollcallv1.RosterEntry) { e.Liveness = rollcallv1.Liveness_LIVENESS_DEAD })},
			"search-2 Missing -\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Down"},
		{"a member on a host outside of the cluster", []edit{allSay([]int{0, 1, 2}, func(r *rollcallv1.Report) {
			r.Groups[0].Members = append(r.Groups[0].Members, &rollcallv1.Member{Id: "core9", Node: "vm7:8983_solr", State: active})
		})}, "books/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Active core9@=Active"},

		// Gossip makes more careful, never bolder.
		{"a headline that is not live", []edit{headline(2, func(e *rollcallv1.RosterEntry) { e.Headline.Member = notLive })},
			"search-2 Ready Unknown"},
		{"a headline of an earlier run of the agent", []edit{headline(2, func(e *rollcallv1.RosterEntry) { e.Headline.Member = notLive }),
			says(2, func(r *rollcallv1.Report) { r.Identity.Incarnation = 2 })}, ""},
		{"a live headline does not make live", []edit{headline(2, func(*rollcallv1.RosterEntry) {}), noReport(2)}, "search-2 Ready -"},
		{"nor does it undo not live", []edit{headline(2, func(*rollcallv1.RosterEntry) {}), says(2, func(r *rollcallv1.Report) { r.Member = notLive })},
			"search-2 Ready NotLive\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Unknown"},
		{"a red headline", []edit{headline(2, func(e *rollcallv1.RosterEntry) { e.Headline.Verdict = rollcallv1.Verdict_VERDICT_RED })}, "Red"},
		{"a headline of another pod of the same name", []edit{headline(2, func(e *rollcallv1.RosterEntry) {
			e.Headline.PodUid, e.Headline.Member, e.Headline.Verdict = "u2-old", notLive, rollcallv1.Verdict_VERDICT_RED
		})}, ""},
		{"idle: headlines stand in, and permit nothing", []edit{func(in *Input) { in.Idle = true }, noReport(2), headline(2, func(*rollcallv1.RosterEntry) {})},
			"search-2 Ready Live stale"},

		// Health.
		{"the worst verdict counts", []edit{says(1, func(r *rollcallv1.Report) { r.Verdict = rollcallv1.Verdict_VERDICT_YELLOW })}, "Yellow"},
		{"a verdict of one who is not live does not", []edit{says(2, func(r *rollcallv1.Report) { r.Member = notLive; r.Verdict = rollcallv1.Verdict_VERDICT_RED })},
			"search-2 Ready NotLive\nbooks/s1 core0@search-0=Active* core1@search-1=Active core2@search-2=Unknown"},
		{"no verdict", []edit{allSay([]int{0, 1, 2}, func(r *rollcallv1.Report) { r.Verdict = 0 })}, "Unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := made(tt.edits...)
			got := summary(Join(in))
			require.Equal(t, expand(healthy, tt.want), got)
			for range 5 {
				require.Equal(t, got, summary(Join(shuffled(in))), "order of the input")
			}
		})
	}
}

// expand puts the lines of want over those of the healthy database that begin
// with the same word; !word takes a line away.
func expand(healthy []string, want string) string {
	lines := slices.Clone(healthy)
	for line := range strings.SplitSeq(want, "\n") {
		word, _, _ := strings.Cut(line, " ")
		bare, drop := strings.CutPrefix(word, "!")
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, bare+" ") })
		switch {
		case line == "":
		case drop:
			lines = slices.Delete(lines, at, at+1)
		case at < 0:
			lines[len(lines)-1] = line
		default:
			lines[at] = line
		}
	}
	return strings.Join(lines, "\n")
}

func TestSnapshotOfAHealthyPod(t *testing.T) {
	in := made(says(0, func(r *rollcallv1.Report) {
		r.Roles, r.Last, r.Rank, r.Busy, r.Veto = []string{"overseer"}, true, 3, "backup", "no"
		r.After = []string{nodeName("search-2"), "vm7"}
		r.Drain = rollcallv1.Drain_DRAIN_DRAINED
	}), editPod(0, func(p *kube.Pod) { p.Unit = "rack7" }), func(in *Input) {
		in.Kube.Cluster.Status.EstimateSeconds = 42
	})
	since := model.At(noon.Add(-61 * time.Second))
	require.Equal(t, model.Pod{
		Name: "search-0", UID: "u0", Pool: "search", Node: "node0", Zone: "z0", Unit: "rack7", Revision: "v1",
		Phase: model.PodPhaseReady, Since: model.At(noon.Add(-time.Hour)), Agent: true, Guard: model.GuardClosed,
		MustReplace: []string{}, Conditions: []model.PodCondition{}, EstimateSeconds: 42,
		Report: &model.Report{
			UID: "u0", Self: true, AgeSeconds: 1, Fresh: true, EngineVersion: "9.9.0", Member: model.MembershipLive,
			Roles: []string{"overseer"}, Last: true, Rank: 3, Settled: true, SettledSince: &since,
			Busy: "backup", Veto: "no", Drain: model.DrainDone, After: []string{"search-2", "vm7"},
		},
	}, Join(in).Pods[0])
}

// Pods are unavailable as long as their pool's have been, else as the cluster's have.
func TestEstimates(t *testing.T) {
	for want, status := range map[float64]v1alpha1.Status{
		60: {},
		42: {EstimateSeconds: 42, PoolEstimateSeconds: map[string]int64{"another": 7}},
		20: {EstimateSeconds: 42, PoolEstimateSeconds: map[string]int64{"search": 20}},
	} {
		s := Join(made(func(in *Input) {
			in.Kube.Cluster.Status.EstimateSeconds = status.EstimateSeconds
			in.Kube.Cluster.Status.PoolEstimateSeconds = status.PoolEstimateSeconds
		}))
		require.Equal(t, want, s.Pods[0].EstimateSeconds)
	}
}

func TestSnapshotOfTheCluster(t *testing.T) {
	in := made(func(in *Input) {
		in.Engine = model.EngineFacts{SettleSeconds: 3, MaxMajorStep: 1}
		in.Fleet = model.Fleet{Restarts: 1, Max: 2}
		d := in.Kube.Cluster
		d.Status.Epoch = 12
		d.Status.Claims = []model.Claim{{ID: "c1", Pod: "search-1", UID: "u1"}}
		d.Status.Approvals = []model.Approval{{What: model.ApprovedAdopt}}
		d.Status.Conditions = []v1alpha1.Condition{{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue}}
		d.Status.LastDeparture = model.At(noon.Add(-time.Minute))
	})
	s := Join(in)
	require.Equal(t, 1, s.Version)
	require.Equal(t, model.At(noon), s.Now)
	departure := model.At(noon.Add(-time.Minute))
	require.Equal(t, model.Cluster{
		Namespace: "prod", Name: "search", UID: "d0", Spec: model.Spec{Engine: model.Solr},
		Status: model.Status{
			Epoch: 12, Claims: in.Kube.Cluster.Status.Claims, Approvals: in.Kube.Cluster.Status.Approvals,
			Initialized: true, LastDeparture: &departure,
		},
		Window: model.WindowState{Open: true}, Engine: in.Engine,
	}, s.Cluster)
	require.Equal(t, in.Fleet, s.Fleet)
	require.Equal(t, []model.Pool{{
		Name: "search", Replicas: 3, Revision: "v2", Version: "9.10.0", RunningVersion: "9.9.0", Observed: true,
		Management: model.ManagementParallel, Strategy: model.StrategyOnDelete,
	}}, s.Pools)
	require.Equal(t, model.Node{Name: "node1", Zone: "z1", Taints: []model.Taint{}}, s.Nodes[1])
}

func TestPauses(t *testing.T) {
	for name, pause := range map[string]edit{
		"spec":       func(in *Input) { in.Kube.Cluster.Spec.Update.Paused = true },
		"annotation": func(in *Input) { in.Kube.Cluster.Annotations = map[string]string{"rollcall.dev/paused": "true"} },
		"pool":       func(in *Input) { in.Kube.Pools[0].Paused = true },
		"fleet":      func(in *Input) { in.Paused = true },
	} {
		require.True(t, Join(made(pause)).Cluster.Paused, name)
	}
	require.False(t, Join(made()).Cluster.Paused)
}

// Every desired ordinal has an entry, and every pod beyond.
func TestOrdinals(t *testing.T) {
	in := made(func(in *Input) {
		in.Kube.Pools[0].Start, in.Kube.Pools[0].Replicas = 1, 3
		in.Kube.Pods = append(in.Kube.Pods, kube.Pod{Name: "search-10", UID: types.UID("u10"), Pool: "search", Ordinal: 10, Phase: kube.Terminating})
	})
	s := Join(in)
	var got []string
	for _, p := range s.Pods {
		got = append(got, fmt.Sprint(p.Name, " ", p.Phase, " ", p.Remove))
	}
	require.Equal(t, []string{
		"search-1 Ready false", "search-2 Ready false", "search-3 Missing false", "search-0 Ready true", "search-10 Terminating true",
	}, got)
	require.Equal(t, model.OperationScaleDown, s.Pools[0].Operation)
}

func TestVersions(t *testing.T) {
	for name, tt := range map[string]struct {
		edits         []edit
		next, running string
	}{
		"told by the tag":               {nil, "9.10.0", "9.9.0"},
		"the oldest that runs":          {[]edit{says(1, func(r *rollcallv1.Report) { r.EngineVersion = "9.8.1" }), editPod(1, func(p *kube.Pod) { p.Image = "solr:9.8.1" })}, "9.10.0", "9.8.1"},
		"numbers, not text":             {[]edit{says(1, func(r *rollcallv1.Report) { r.EngineVersion = "9.10.0" }), editPod(1, func(p *kube.Pod) { p.Image = "solr:9.10.0" })}, "9.10.0", "9.9.0"},
		"tags that are not the version": {[]edit{editPod(1, func(p *kube.Pod) { p.Image = "search-platform:1.4.2" })}, "", "9.9.0"},
		"no version in the tag":         {[]edit{func(in *Input) { in.Kube.Pools[0].Image = "solr:latest" }}, "", "9.9.0"},
		"nobody tells":                  {[]edit{noReport(0), noReport(1), noReport(2)}, "9.10.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := Join(made(tt.edits...)).Pools[0]
			require.Equal(t, tt.next, p.Version)
			require.Equal(t, tt.running, p.RunningVersion)
		})
	}
}

func TestZoneKey(t *testing.T) {
	in := made(func(in *Input) {
		in.Kube.Cluster.Spec.Policy.ZoneKey = "example.com/room"
		in.Kube.Nodes["node1"] = kube.Node{Name: "node1", Labels: map[string]string{"example.com/room": "r1"}}
	})
	s := Join(in)
	require.Equal(t, []string{"", "r1", ""}, []string{s.Pods[0].Zone, s.Pods[1].Zone, s.Pods[2].Zone})
}

func TestGuardEnforcingIsPassedOn(t *testing.T) {
	for _, enforcing := range []bool{true, false} {
		in := Input{Now: noon, Kube: kube.ClusterObjects{Cluster: &v1alpha1.DatabaseCluster{}}, GuardEnforcing: enforcing}
		require.Equal(t, enforcing, Join(in).Cluster.GuardEnforcing)
	}
}
