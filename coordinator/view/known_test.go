package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// A report that leaves a group out is believed when everybody who was in the
// group has spoken; until then somebody may hold the other copy of it.
func TestGroupOfWhichNobodySpeaks(t *testing.T) {
	known := Join(made()).Groups
	require.Len(t, known, 1)
	silent := func(r *rollcallv1.Report) { r.Groups = nil }
	agentless := func(p *kube.Pod) { p.Agent, p.Phase, p.Since = false, kube.Ready, noon.Add(-forgetAfter) }
	lately := func(p *kube.Pod) { agentless(p); p.Since = p.Since.Add(1) }
	starts := func(d time.Duration) func(p *kube.Pod) {
		return func(p *kube.Pod) { agentless(p); p.Phase, p.Since = kube.Started, noon.Add(-d) }
	}
	start := time.Duration(model.Spec{}.WithDefaults().Policy.StartSeconds) * time.Second
	require.Greater(t, start, forgetAfter)
	remembered := func(in *Input) { in.Known = known }
	for name, tt := range map[string]struct {
		in   Input
		kept bool
		// off is true if nobody serves the copy of the third.
		off bool
	}{
		"all have spoken: it is over":  {made(remembered, allSay([]int{0, 1, 2}, silent)), false, false},
		"one is gone":                  {made(remembered, allSay([]int{0, 1, 2}, silent), missing(2)), true, true},
		"one has not started":          {made(remembered, allSay([]int{0, 1, 2}, silent), editPod(2, func(p *kube.Pod) { p.Phase = kube.NotStarted })), true, true},
		"one fails again and again":    {made(remembered, allSay([]int{0, 1, 2}, silent), editPod(2, func(p *kube.Pod) { p.Phase = kube.Failed })), true, true},
		"one is no member yet":         {made(remembered, allSay([]int{0, 1, 2}, silent), says(2, func(r *rollcallv1.Report) { r.Member = notLive })), true, true},
		"one says nothing":             {made(remembered, allSay([]int{0, 1, 2}, silent), noReport(2)), true, false},
		"nobody has an agent, or will": {made(remembered, allSay([]int{0, 1, 2}, silent), noReport(2), editPod(0, agentless), editPod(1, agentless), editPod(2, agentless)), false, false},
		"nor that, and one is overdue": {made(remembered, allSay([]int{0, 1, 2}, silent), noReport(2), editPod(0, agentless), editPod(1, agentless), editPod(2, starts(start))), false, false},
		"nor that, and one yet starts": {made(remembered, allSay([]int{0, 1, 2}, silent), noReport(2), editPod(0, agentless), editPod(1, agentless), editPod(2, starts(start-1))), true, false},
		"one of them is back only now": {made(remembered, allSay([]int{0, 1, 2}, silent), noReport(2), editPod(0, agentless), editPod(1, agentless), editPod(2, lately)), true, false},
		"one still has an agent":       {made(remembered, allSay([]int{0, 1, 2}, silent), noReport(2), editPod(0, agentless), editPod(1, agentless)), true, false},
		"it was never known":           {made(allSay([]int{0, 1, 2}, silent), missing(2)), false, false},
		"one who was not in it is off": {made(func(in *Input) { in.Known = without(known, podName(2)) }, allSay([]int{0, 1, 2}, silent), missing(2)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			groups := Join(tt.in).Groups
			if !tt.kept {
				require.Empty(t, groups)
				return
			}
			require.Len(t, groups, 1)
			require.Equal(t, known[0].ID, groups[0].ID)
			require.Len(t, groups[0].Members, 3)
			for _, m := range groups[0].Members {
				want := model.MemberUnknown
				if tt.off && m.Pod == podName(2) {
					want = model.MemberDown
				}
				require.Equal(t, want, m.State, m.Pod)
				require.False(t, m.Leader)
			}
		})
	}
	t.Run("one who speaks of it is believed, with what is known now", func(t *testing.T) {
		groups := Join(made(remembered, allSay([]int{1, 2}, silent), missing(2))).Groups
		require.Len(t, groups, 1)
		require.Equal(t, model.MemberActive, groups[0].Members[0].State)
	})
	require.Equal(t, model.MemberActive, known[0].Members[0].State, "what was known is not changed")
}

// A StatefulSet that loses its label, or is deleted without its pods, hides them for a while.
// Nobody of a group has spoken then, and when it is back one of them may leave the group out while
// the other is unavailable.
func TestAGroupOnPodsThatAreNotShown(t *testing.T) {
	silent := func(r *rollcallv1.Report) { r.Groups = nil }
	known := Join(made()).Groups
	remember := func(groups []model.Group) edit { return func(in *Input) { in.Known = groups } }
	hide := func(in *Input) { in.Kube.Pools, in.Kube.Pods = nil, nil }
	claimed := func(i int) edit {
		return func(in *Input) {
			in.Kube.Cluster.Status.Claims = []model.Claim{{ID: "c1", Pod: podName(i), UID: "u", Phase: model.PhaseGone}}
		}
	}
	// The third pod, on a pool of its own that is not shown.
	apart := func(in *Input) {
		in.Known = []model.Group{{ID: "books/s1", Kind: model.GroupShard, NeedsLeader: true, Members: []model.Member{
			{ID: "core0", Pod: podName(0), State: model.MemberActive, Leader: true}, {ID: "other", Pod: "hot-0", State: model.MemberDown},
		}}}
	}
	claimedApart := func(in *Input) {
		in.Kube.Cluster.Status.Claims = []model.Claim{{ID: "c1", Pod: "hot-0", UID: "u", Phase: model.PhaseGone}}
	}
	t.Run("it outlasts that", func(t *testing.T) {
		kept := known
		for range 3 {
			kept = Join(made(remember(kept), hide)).Groups
			require.Len(t, kept, 1)
			for _, m := range kept[0].Members {
				require.Equal(t, model.MemberUnknown, m.State, m.Pod)
			}
		}
		back := Join(made(remember(kept), allSay([]int{0, 1, 2}, silent), missing(2), claimed(2))).Groups
		require.Len(t, back, 1, "nobody has heard the third")
		require.Equal(t, model.MemberDown, back[0].Members[2].State)
	})
	t.Run("until all have spoken", func(t *testing.T) {
		require.Empty(t, Join(made(remember(known), allSay([]int{0, 1, 2}, silent))).Groups)
	})
	t.Run("pods that were scaled away are not there", func(t *testing.T) {
		require.Empty(t, Join(made(remember(known), func(in *Input) { in.Kube.Pods, in.Kube.Pools[0].Replicas = nil, 0 })).Groups)
	})
	t.Run("a member elsewhere is on no pod", func(t *testing.T) {
		elsewhere := []model.Group{{ID: "books/s1", Kind: model.GroupShard, Members: []model.Member{{ID: "core0", State: model.MemberActive}}}}
		require.Empty(t, Join(made(remember(elsewhere), hide)).Groups)
	})
	t.Run("who is shown tells for who is not", func(t *testing.T) {
		require.Empty(t, Join(made(apart, allSay([]int{0, 1, 2}, silent))).Groups)
	})
	t.Run("not for one that is unavailable by a claim", func(t *testing.T) {
		require.Len(t, Join(made(apart, allSay([]int{0, 1, 2}, silent), claimedApart)).Groups, 1)
	})
}

func without(groups []model.Group, pod string) []model.Group {
	g := groups[0]
	g.Members = nil
	for _, m := range groups[0].Members {
		if m.Pod != pod {
			g.Members = append(g.Members, m)
		}
	}
	return []model.Group{g}
}

// What an agent said that made no sense is not remembered as it was: nobody who is left could
// take it back, and as bad input it would hold everything for ever, even a correction.
func TestWhatMadeNoSenseIsNotRemembered(t *testing.T) {
	for name, spoil := range map[string]func(*model.Group){
		"an unknown kind":           func(g *model.Group) { g.Kind, g.MinAvailable = "Unknown", new(int32(7)) },
		"fewer than none":           func(g *model.Group) { g.MinAvailable = new(int32(-1)) },
		"a quorum without a number": func(g *model.Group) { g.Kind, g.MinAvailable = model.GroupQuorum, nil },
	} {
		t.Run(name, func(t *testing.T) {
			known := Join(made()).Groups
			spoil(&known[0])
			s := Join(made(func(in *Input) { in.Known = known }, allSay([]int{0, 1, 2}, func(r *rollcallv1.Report) { r.Groups = nil }), missing(2)))
			require.Len(t, s.Groups, 1)
			require.Equal(t, model.GroupShard, s.Groups[0].Kind)
			require.Equal(t, int32(3), *s.Groups[0].MinAvailable)
			require.Empty(t, model.Validate(&s))
		})
	}
	t.Run("what makes sense is", func(t *testing.T) {
		known := Join(made()).Groups
		known[0].Kind, known[0].MinAvailable = model.GroupQuorum, new(int32(2))
		s := Join(made(func(in *Input) { in.Known = known }, allSay([]int{0, 1, 2}, func(r *rollcallv1.Report) { r.Groups = nil }), missing(2)))
		require.Equal(t, model.GroupQuorum, s.Groups[0].Kind)
		require.Equal(t, int32(2), *s.Groups[0].MinAvailable)
	})
}
