package view

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// later is the same database after a while, of which all agents have told.
func later(by time.Duration) edit {
	return func(in *Input) {
		in.Now = in.Now.Add(by)
		for uid, r := range in.Agents.Reports {
			r.Report.Sequence++
			r.Report.SettledFor = durationpb.New(r.Report.GetSettledFor().AsDuration() + by)
			in.Agents.Reports[uid] = agents.Received{Report: r.Report, At: r.At.Add(by)}
		}
	}
}

func TestBasis(t *testing.T) {
	red := func(e *rollcallv1.RosterEntry) { e.Headline.Verdict = rollcallv1.Verdict_VERDICT_RED }
	for name, c := range map[string]struct {
		before []edit // what was looked at
		after  []edit // and what came then
		stands bool
	}{
		"nothing":             {stands: true},
		"all looked again":    {after: []edit{later(5 * time.Second)}, stands: true},
		"nobody did":          {after: []edit{func(in *Input) { in.Now = in.Now.Add(5 * time.Second) }}, stands: true},
		"nobody did for long": {after: []edit{func(in *Input) { in.Now = in.Now.Add(DefaultMaxAge) }}},
		"one is too old, and was": {before: []edit{observedAt(0, noon.Add(-time.Minute))},
			after: []edit{observedAt(0, noon.Add(-time.Minute)), later(time.Second)}, stands: true},
		"one had been too old":                 {before: []edit{observedAt(0, noon.Add(-time.Minute))}},
		"data are kept off it":                 {after: []edit{says(0, func(r *rollcallv1.Report) { r.Excluded = true })}},
		"a bit of data came":                   {after: []edit{says(0, func(r *rollcallv1.Report) { r.DataBytes = 7 })}, stands: true},
		"a copy recovers":                      {after: []edit{says(0, hasCopy(2, recovering))}},
		"a copy comes closer":                  {before: []edit{says(0, hasCopy(2, recovering))}, after: []edit{says(0, hasCopy(2, recovering)), says(0, func(r *rollcallv1.Report) { r.Groups[0].Members[2].Progress = 0.5 })}},
		"who leads is told by who looked last": {before: []edit{allSay([]int{0, 1}, leads(1)), observedAt(1, noon.Add(-500*time.Millisecond))}, after: []edit{allSay([]int{0, 1}, leads(1)), observedAt(1, noon.Add(-500*time.Millisecond)), observedAt(2, noon.Add(-400*time.Millisecond))}},
		"before the barrier, but not so old":   {before: []edit{barrier, unsettled, observedAt(0, noon.Add(-time.Minute))}, after: []edit{barrier, unsettled}},
		"looked since the barrier":             {before: []edit{barrier, unsettled}, after: []edit{barrier, unsettled, observedAt(0, noon)}},
		"another leads":                        {after: []edit{says(0, leads(1))}},
		"settled again":                        {after: []edit{says(0, func(r *rollcallv1.Report) { r.SettledFor = nil })}},
		"no report any more":                   {after: []edit{noReport(1)}},
		"a barrier":                            {after: []edit{barrier}},
		"a pod changed":                        {after: []edit{editPod(1, func(p *kube.Pod) { p.ResourceVersion = "2" })}},
		"a pod is not there":                   {after: []edit{missing(1)}},
		"a node is cordoned":                   {after: []edit{func(in *Input) { in.Kube.Nodes["node1"] = kube.Node{Name: "node1", Cordoned: true} }}},
		"the object was written":               {after: []edit{func(in *Input) { in.Kube.Cluster.ResourceVersion = "2" }}},
		"good gossip":                          {after: []edit{headline(1, func(*rollcallv1.RosterEntry) {})}, before: []edit{headline(1, func(e *rollcallv1.RosterEntry) { e.Headline.Member = unsaid })}, stands: true},
		"bad gossip":                           {after: []edit{headline(1, red)}, before: []edit{headline(1, func(*rollcallv1.RosterEntry) {})}},
		"the same from another":                {after: []edit{headline(1, red), headline(1, red)}, before: []edit{headline(1, red)}, stands: true},
		"gossip of an earlier run":             {after: []edit{headline(1, red), says(1, func(r *rollcallv1.Report) { r.Identity.Incarnation = 2 })}, before: []edit{headline(1, func(*rollcallv1.RosterEntry) {}), says(1, func(r *rollcallv1.Report) { r.Identity.Incarnation = 2 })}, stands: true},
		"a name in the gossip":                 {after: []edit{headline(1, func(e *rollcallv1.RosterEntry) { e.Headline.Node = "n" })}, before: []edit{headline(1, func(*rollcallv1.RosterEntry) {})}},
		"idle, and all gossip tells":           {after: []edit{idle, headline(1, func(e *rollcallv1.RosterEntry) { e.Headline.Roles = []string{"x"} })}, before: []edit{idle, headline(1, func(*rollcallv1.RosterEntry) {})}},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := made(c.before...), made(append([]edit{reread}, c.after...)...)
			reread(&was)
			_, basis := Look(was)
			require.Equal(t, c.stands, basis.Stands(is))
		})
	}
}

func barrier(in *Input) { in.Barrier = noon }

func unsettled(in *Input) { says(0, func(r *rollcallv1.Report) { r.Settled = false })(in) }

func idle(in *Input) { in.Idle = true }

// reread is for objects that have been read; those of tests are not.
func reread(in *Input) { in.Kube.Cluster.ResourceVersion = "1" }

// A snapshot that stands is the one that would be made: of what was changed in any
// field, by time and by what agents say.
func TestBasisStandsOnlyWhereNothingIsNew(t *testing.T) {
	begin := [][]edit{
		{}, {idle, headline(1, func(*rollcallv1.RosterEntry) {})}, {noAgent(1)}, {missing(2), headline(2, func(*rollcallv1.RosterEntry) {})},
		{says(0, leads(1)), observedAt(1, noon)}, {says(1, hasCopy(2, down)), editPod(2, func(p *kube.Pod) { p.Phase, p.Since = kube.Started, noon })},
		{editPod(0, func(p *kube.Pod) { p.Phase, p.Deleted = kube.Terminating, noon.Add(-stuckAfter).Add(5*time.Second) })},
		{says(0, sees(2, notLive)), editPod(2, func(p *kube.Pod) { p.Since = noon.Add(2 * time.Second).Add(-DefaultMaxAge) })},
		{func(in *Input) { in.Barrier = noon.Add(-time.Second) }, observedAt(1, noon.Add(-2*time.Second))},
		{barrier, unsettled, observedAt(0, noon.Add(-time.Minute))},
		{allSay([]int{0, 1}, leads(1)), observedAt(1, noon)},
		{allSay([]int{0, 1, 2}, hasCopy(1, recovering))},
		{func(in *Input) { in.Kube.Cluster.Spec.Replacement.Enabled = true }},
		{func(in *Input) {
			in.Kube.Cluster.Spec.Update.Windows = []model.Window{{Schedule: "0 12 * * *", Duration: "10s"}}
		}},
	}
	stood, fell := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		edits := append([]edit{reread}, begin[r.IntN(len(begin))]...)
		was, is := made(edits...), made(edits...)
		what := change(r, &is)
		before, basis := Look(was)
		stands := basis.Stands(is)
		after := Join(is)
		if !stands {
			fell++
			continue
		}
		stood++
		require.Equal(t, timeless(before), timeless(after), "seed %d: %s", seed, what)
	}
	require.Greater(t, stood, 300)
	require.Greater(t, fell, 300)
}

// Whatever field another input has: each of every report, headline, pod and pool by itself.
func TestNoFieldIsOverlooked(t *testing.T) {
	rumour := headline(1, func(*rollcallv1.RosterEntry) {})
	begin := [][]edit{
		{rumour}, {idle, rumour, noReport(1)}, {noAgent(1), rumour}, {missing(2), headline(2, func(*rollcallv1.RosterEntry) {})},
		{rumour, says(1, func(r *rollcallv1.Report) { r.Member, r.NotLive = notLive, durationpb.New(time.Minute) })},
		{missing(2), headline(2, func(e *rollcallv1.RosterEntry) { e.Headline.Node = nodeName("search-2") }), // nothing else tells its name
			allSay([]int{0, 1}, func(r *rollcallv1.Report) { r.Nodes[2].Address = "10.9.9.9:8983" })},
		{allSay([]int{0, 1, 2}, hasCopy(1, recovering))}, {allSay([]int{0, 1, 2}, func(r *rollcallv1.Report) { r.Groups[0].MinAvailable = 2 })},
		{editPod(1, func(p *kube.Pod) { p.Phase, p.Deleted = kube.Terminating, noon })},
		{func(in *Input) {
			in.Kube.Cluster.Spec.Update.NodeDrains = model.NodeDrains{Follow: true, Taints: []string{"leave"}}
			node := in.Kube.Nodes["node1"]
			node.Taints = []kube.Taint{{Key: "leave", Value: "v", Effect: corev1.TaintEffectNoSchedule, Since: noon}, {Key: "other"}}
			in.Kube.Nodes["node1"] = node
		}},
	}
	fell, total := map[string]int{}, 0
	for _, edits := range begin {
		edits = append([]edit{reread}, edits...)
		for i := 0; ; i++ {
			was, is := made(edits...), made(edits...)
			all := every(&is)
			if i == len(all) {
				break
			}
			all[i].apply()
			before, basis := Look(was)
			if !basis.Stands(is) {
				fell[all[i].name]++
				total++
				continue
			}
			require.Equal(t, timeless(before), timeless(Join(is)), all[i].name)
		}
	}
	require.Greater(t, total, 300)
	for _, name := range []string{"Node.Labels", "Node.Cordoned", "Node.Silent", "Node.Taints", "Node.Taint.Key", "Node.Taint.Since"} {
		require.Positive(t, fell[name], name)
	}
}

// timeless leaves out what a Basis does not answer for.
func timeless(s model.Snapshot) model.Snapshot {
	s.Now = model.Time{}
	s.Pods = slices.Clone(s.Pods)
	for i := range s.Pods {
		if s.Pods[i].Report != nil {
			report := *s.Pods[i].Report
			report.AgeSeconds, report.SettledSince = 0, nil
			report.NotLiveSeconds = math.Round(report.NotLiveSeconds)
			s.Pods[i].Report = &report
		}
	}
	return s
}

// Time alone changes nothing before Until, but for ages.
func TestUntil(t *testing.T) {
	in := made(reread)
	_, basis := Look(in)
	require.Equal(t, noon.Add(-time.Second).Add(DefaultMaxAge+1), basis.Until())
	for _, from := range [][]edit{
		{editPod(0, func(p *kube.Pod) { p.Phase, p.Deleted = kube.Terminating, noon.Add(-stuckAfter).Add(5*time.Second) })},
		{says(0, sees(2, notLive)), editPod(2, func(p *kube.Pod) { p.Since = noon.Add(2 * time.Second).Add(-DefaultMaxAge) })},
		{editPod(2, func(p *kube.Pod) {
			p.Phase, p.Problem, p.Since = kube.NotStarted, kube.Volume, noon.Add(-stuckAfter).Add(7*time.Second)
		})},
		{func(in *Input) {
			in.Kube.Cluster.Spec.Update.Windows = []model.Window{{Schedule: "0 12 * * *", Duration: "9s"}}
		}},
		{},
	} {
		was := made(from...)
		s, basis := Look(was)
		require.WithinRange(t, basis.Until(), noon.Add(time.Second), noon.Add(DefaultMaxAge))
		is := was
		is.Now = basis.Until().Add(-1)
		require.Equal(t, timeless(s), timeless(Join(is)))
		is.Now = basis.Until()
		require.NotEqual(t, timeless(s), timeless(Join(is)))
	}
	empty := made(noReport(0), noReport(1), noReport(2))
	_, basis = Look(empty)
	require.Zero(t, basis.Until())

	// What is remembered of pods without agents is let go by time alone.
	agentless := func(p *kube.Pod) { p.Agent, p.Phase, p.Since = false, kube.Ready, noon.Add(-time.Hour) }
	for _, last := range []edit{
		editPod(2, func(p *kube.Pod) { agentless(p); p.Since = noon.Add(3 * time.Second).Add(-forgetAfter) }),
		editPod(2, func(p *kube.Pod) {
			agentless(p)
			p.Phase = kube.Started
			p.Since = noon.Add(3 * time.Second).Add(-10 * time.Minute)
		}),
	} {
		was := made(noReport(0), noReport(1), noReport(2), editPod(0, agentless), editPod(1, agentless), last,
			func(in *Input) { in.Known = Join(made()).Groups })
		s, basis := Look(was)
		require.Len(t, s.Groups, 1)
		require.Equal(t, noon.Add(3*time.Second), basis.Until())
		was.Now = basis.Until()
		require.Empty(t, Join(was).Groups)
	}
}
