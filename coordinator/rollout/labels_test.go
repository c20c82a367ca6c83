package rollout

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// labelled is a database of which s-0 takes the writes, with the labels that say so.
type labelled struct {
	facts Facts
	state State
	now   time.Time
}

func newLabelled(labels ...string) *labelled {
	now := time.Unix(10_000, 0)
	l := &labelled{now: now, state: NewState(1, Before{LastProgress: now})}
	s := threePods(now)
	s.Pools[0].Revision = "v1" // nothing is to go
	s.Groups = append(s.Groups, model.Group{ID: model.PrimaryGroup, Kind: model.GroupRole, NeedsLeader: true, MinAvailable: new(int32(1)),
		Members: append([]model.Member{}, s.Groups[0].Members...)})
	tellRoles(s.Pods, 0)
	l.facts = Facts{Record: Record{Epoch: 1}, Snapshot: s, Unlimited: true, ResourceVersions: map[string]string{"0": "1", "1": "1", "2": "1"}, RoleLabels: map[string]string{}}
	for i, label := range labels {
		l.facts.RoleLabels[l.pod(i).UID] = label
	}
	return l
}

func (l *labelled) pod(i int) *model.Pod { return &l.facts.Snapshot.Pods[i] }

// leads makes another member take the writes, as all tell.
func (l *labelled) leads(i int) {
	tellRoles(l.facts.Snapshot.Pods, i)
	for m := range l.facts.Snapshot.Groups[1].Members {
		l.facts.Snapshot.Groups[1].Members[m].Leader = m == i
	}
}

// step returns how the pods are labelled by the next step: "s-1=primary s-0=replica".
func (l *labelled) step(results ...effect.Result) string {
	l.now = l.now.Add(10 * time.Millisecond)
	state, out := Step(l.state, l.facts, results, l.now)
	l.state = state
	return labelsIn(out)
}

func labelsIn(out Outcome) (text string) {
	for _, e := range out.Effects {
		if e, ok := e.(effect.LabelRoles); ok {
			for _, r := range e.Roles {
				text += r.Pod.Pod + "=" + r.Role + " "
			}
			if e.Primary.Pod != "" {
				text += e.Primary.Pod + "=primary"
			}
		}
	}
	return text
}

const right = "s-1=replica s-2=replica s-0=primary"

func TestLabelsSayWhatIsKnown(t *testing.T) {
	well := []string{model.RolePrimary, model.RoleReplica, model.RoleReplica}
	silent := func(i int) func(l *labelled) { return func(l *labelled) { l.pod(i).Report = nil } }
	stale := func(i int) func(l *labelled) {
		return func(l *labelled) { r := *l.pod(i).Report; r.Fresh = false; l.pod(i).Report = &r }
	}
	for name, c := range map[string]struct {
		labels []string
		but    []func(l *labelled)
		want   string
	}{
		"nothing is labelled yet":                  {nil, nil, right},
		"all is":                                   {well, nil, ""},
		"its report is stale":                      {nil, []func(*labelled){stale(0)}, "s-1=replica s-2=replica "},
		"its agent is gone":                        {well, []func(*labelled){silent(0)}, ""},
		"all agents are gone":                      {well, []func(*labelled){silent(0), silent(1), silent(2)}, ""},
		"another leads":                            {well, []func(*labelled){func(l *labelled) { l.leads(1) }}, "s-0=replica s-1=primary"},
		"another leads, and the old one is silent": {well, []func(*labelled){func(l *labelled) { l.leads(1) }, silent(0)}, "s-0= s-1=primary"},
		"another leads, by a stale report":         {well, []func(*labelled){func(l *labelled) { l.leads(1) }, stale(1), silent(0)}, ""},
		"two say that they lead":                   {[]string{"", model.RoleReplica, model.RoleReplica}, []func(*labelled){func(l *labelled) { l.pod(1).Report = reportOf(l.pod(1), model.RolePrimary) }}, ""},
		"two lead, as all say":                     {well, []func(*labelled){func(l *labelled) { l.facts.Snapshot.Groups[1].Members[1].Leader = true }}, ""},
		"a report names another":                   {[]string{"", model.RolePrimary, model.RoleReplica}, []func(*labelled){silent(1), func(l *labelled) { l.facts.Disputed = true }}, ""},
		"none leads, and the pod says so":          {well, []func(*labelled){func(l *labelled) { l.leads(9) }}, "s-0=replica "},
		"none leads, and it follows nobody":        {well, []func(*labelled){func(l *labelled) { l.leads(9); l.pod(0).Report = reportOf(l.pod(0)) }}, "s-0= "},
		"all lead":                                 {nil, []func(*labelled){func(l *labelled) { l.facts.Snapshot.Groups[1].NeedsLeader = false }}, ""},
		"it is no such database":                   {well, []func(*labelled){func(l *labelled) { l.facts.Snapshot.Groups = l.facts.Snapshot.Groups[:1]; l.leads9() }}, ""},
		"somebody labels another":                  {[]string{model.RolePrimary, model.RolePrimary, model.RoleReplica}, nil, "s-1=replica "},
		"the template says primary, and it starts": {[]string{model.RolePrimary, model.RolePrimary, model.RoleReplica}, []func(*labelled){silent(1)}, "s-1= "},
		"the rollout is paused":                    {nil, []func(*labelled){func(l *labelled) { l.facts.Snapshot.Cluster.Paused = true }}, right},
		"it is only observed":                      {nil, []func(*labelled){func(l *labelled) { l.facts.Snapshot.Cluster.Spec.Update.Mode = model.ModeObserve }}, ""},
		"the DatabaseCluster is deleted":           {nil, []func(*labelled){func(l *labelled) { l.facts.Object.DeletionTimestamp = l.now }}, ""},
		"it is no member": {well, []func(*labelled){func(l *labelled) {
			l.leads(9)
			r := reportOf(l.pod(0))
			r.Member = model.MembershipUnknown
			l.pod(0).Report = r
		}}, ""},
		"it terminates, and still leads":          {well, []func(*labelled){func(l *labelled) { l.pod(0).Phase = model.PodPhaseTerminating }}, ""},
		"it terminates, and is not labelled":      {[]string{"", model.RoleReplica, model.RoleReplica}, []func(*labelled){func(l *labelled) { l.pod(0).Phase = model.PodPhaseTerminating }}, ""},
		"the report is of the pod that was there": {well, []func(*labelled){func(l *labelled) { l.pod(0).UID = "7" }}, ""},
		"a replica that others have to speak for": {nil, []func(*labelled){func(l *labelled) { r := *l.pod(2).Report; r.Self = false; l.pod(2).Report = &r }}, "s-1=replica s-0=primary"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLabelled(c.labels...)
			for _, but := range c.but {
				but(l)
			}
			require.Equal(t, c.want, l.step())
		})
	}
}

// leads9 has nobody tell of a primary.
func (l *labelled) leads9() { tellRoles(l.facts.Snapshot.Pods, 9) }

func reportOf(pod *model.Pod, roles ...string) *model.Report {
	return &model.Report{UID: pod.UID, Self: true, Fresh: true, Member: model.MembershipLive, Settled: true, Roles: roles}
}

// One write for one change: what was written counts until the cache shows it, and what is under way
// is awaited.
func TestLabelsAreWrittenOnce(t *testing.T) {
	l := newLabelled()
	require.Equal(t, right, l.step())
	require.Empty(t, l.step(), "it is under way")
	seen := func(name, role string) effect.PodSeen {
		return effect.PodSeen{Name: name, UID: name[2:], Role: role, ResourceVersion: "5"}
	}
	require.Empty(t, l.step(effect.RolesLabelled{Fenced: true, Primary: effect.Target{Pod: "s-0", UID: "0"}, Pods: []effect.PodSeen{seen("s-0", "primary"), seen("s-1", "replica"), seen("s-2", "replica")}}))
	require.Empty(t, l.step(), "the cache is behind")
	l.facts.ResourceVersions["0"], l.facts.RoleLabels["0"] = "6", "replica"
	require.Equal(t, "s-0=primary", l.step(), "somebody has changed it since")
}

// A label that the API server has not confirmed is there, and is not there.
func TestALabelWithoutAnAnswerIsWrittenAgain(t *testing.T) {
	l := newLabelled(model.RoleReplica, model.RoleReplica, model.RoleReplica)
	l.state.labels.fenced = true
	require.Equal(t, "s-0=primary", l.step())
	lost := effect.RolesLabelled{Primary: effect.Target{Pod: "s-0", UID: "0"}, Err: errors.New("timeout"), Unanswered: true}
	require.Empty(t, l.step(lost), "after a pause")
	l.leads(1)
	l.now = l.now.Add(time.Second)
	_, out := Step(l.state, l.facts, nil, l.now)
	require.Equal(t, "s-0=replica s-1=primary", labelsIn(out))
	require.True(t, out.Effects[0].(effect.LabelRoles).Fence, "a late write must fail")
}

// The first labels of a coordinator are fenced, later ones are not.
func TestLabelsAreFencedOnce(t *testing.T) {
	l := newLabelled("", model.RoleReplica, model.RoleReplica)
	fence := func(results ...effect.Result) bool {
		l.now = l.now.Add(time.Second)
		state, out := Step(l.state, l.facts, results, l.now)
		l.state = state
		return out.Effects[0].(effect.LabelRoles).Fence
	}
	require.True(t, fence())
	require.Empty(t, l.step(effect.RolesLabelled{Err: effect.ErrGone}), "after a pause")
	require.True(t, fence(), "nothing was fenced")
	l.leads(1)
	require.False(t, fence(effect.RolesLabelled{Fenced: true}))
}

// Fresh reports are worth asking for where rosters tell something else than the labels.
func TestRolesMayDiffer(t *testing.T) {
	l := newLabelled(model.RolePrimary, model.RoleReplica, model.RoleReplica)
	differs := func() bool {
		for i := range l.facts.Snapshot.Pods {
			l.pod(i).Report.Fresh = false
		}
		_, out := Step(l.state, l.facts, nil, l.now)
		require.Empty(t, labelsIn(out))
		return out.RolesDiffer
	}
	require.False(t, differs())
	l.leads(1)
	require.True(t, differs(), "another leads")
	l.leads(9)
	require.True(t, differs(), "it leads no more")
	l.leads(0)
	delete(l.facts.RoleLabels, "2")
	require.True(t, differs(), "a new pod")
	for i := range l.facts.Snapshot.Pods {
		l.pod(i).Report.Roles = []string{model.RolePrimary}
	}
	l.facts.RoleLabels = nil
	require.False(t, differs(), "all write: nobody is labelled")
}

// A primary that goes loses its label before its agent is asked.
func TestHandoverTakesTheLabelFirst(t *testing.T) {
	l := newLabelled(model.RolePrimary, model.RoleReplica, model.RoleReplica)
	claim := model.Claim{ID: "c", Pod: "s-0", UID: "0", Epoch: 1, Action: model.ActionRestart, Prepare: model.PrepareHandoff, Reason: model.ReasonOutdated, Phase: model.PhaseDraining, Undo: []byte("u")}
	l.facts.Snapshot.Pools[0].Revision = "v2"
	for i := range l.facts.Snapshot.Pods[1:] {
		l.pod(i + 1).Revision = "v2"
	}
	l.facts.Record.Claims = []model.Claim{claim}
	l.facts.Snapshot.Cluster.Status.Claims = l.facts.Record.Claims
	l.state.made = map[string]bool{"c": true}
	step := func(results ...effect.Result) (kinds []string, out Outcome) {
		l.now = l.now.Add(10 * time.Millisecond)
		l.facts.Snapshot.Now = model.At(l.now)
		l.state, out = Step(l.state, l.facts, results, l.now)
		for _, e := range out.Effects {
			kinds = append(kinds, e.Kind())
		}
		return kinds, out
	}
	kinds, out := step()
	require.Equal(t, []string{"LabelRoles"}, kinds)
	require.Equal(t, "s-0= ", labelsIn(out))
	require.Contains(t, out.Waiting["s-0"], "label")
	kinds, out = step(effect.RolesLabelled{Err: errors.New("somebody's webhook refuses")})
	require.Empty(t, kinds)
	require.Contains(t, out.Waiting["s-0"], "somebody's webhook refuses")
	l.now = l.now.Add(time.Second)
	kinds, _ = step()
	require.Equal(t, []string{"LabelRoles"}, kinds)
	kinds, _ = step(effect.RolesLabelled{Fenced: true, Pods: []effect.PodSeen{{UID: "0", ResourceVersion: "5"}}})
	require.Equal(t, []string{"Drain"}, kinds)
	asked := l.now
	kinds, out = step(effect.DrainAnswered{Claim: "c", Began: asked, Order: effect.Order{NotAfter: asked.Add(effect.WriteAhead)}, Progress: effect.Progress{State: model.DrainRunning, Detail: "a long write"}})
	require.Empty(t, kinds, "and it is not given back at once")
	require.False(t, out.Wake.After(asked.Add(handoverTime)))
}
