package web

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/coordinator/status/web/webtest"
	"github.com/rollcall-dev/rollcall/test/race"
)

func podOf(t testing.TB, v View, name string) (Pod, string) {
	t.Helper()
	for _, zone := range v.Zones {
		for _, pod := range zone.Pods {
			if pod.Name == name {
				return pod, zone.Name
			}
		}
	}
	t.Fatalf("%s is not in the view", name)
	return Pod{}, ""
}

func TestPodsStandInTheirZones(t *testing.T) {
	v := NewView(webtest.Books(t), Timeline{})
	var names []string
	for _, zone := range v.Zones {
		names = append(names, zone.Name)
		require.Len(t, zone.Pods, 3)
	}
	require.Equal(t, []string{"z0", "z1", "z2"}, names)
	require.Equal(t, "books-0", v.Zones[0].Pods[0].Name)
	require.Equal(t, "books-6", v.Zones[0].Pods[2].Name)
}

// Each pod has the verdict, the rule and the reason that everybody else is shown.
func TestAViewSaysWhatThePlanSays(t *testing.T) {
	for name, d := range map[string]status.Decision{
		"calm":     webtest.Books(t),
		"on a way": webtest.Books(t, webtest.OnTheWay(5, model.PhaseGone)),
		"paused":   webtest.Books(t, webtest.Paused),
		"done":     webtest.Books(t, webtest.UpdatedTo(0)),
		"wrong": webtest.Books(t, func(s *model.Snapshot) {
			s.Pods[3].Phase, s.Pods[3].Problem = model.PodPhaseFailed, model.ProblemCrashLoop
		}),
		"no report": webtest.Books(t, func(s *model.Snapshot) { s.Pods[2].Report = nil }),
	} {
		t.Run(name, func(t *testing.T) {
			v := NewView(d, Timeline{})
			seen := 0
			for _, zone := range v.Zones {
				for _, pod := range zone.Pods {
					seen++
					e, err := status.Explain(d, pod.Name)
					require.NoError(t, err)
					require.Equal(t, string(e.Verdict), pod.Verdict, pod.Name)
					require.Equal(t, e.Rule, pod.Rule, pod.Name)
					require.Equal(t, pod.Verdict == string(status.VerdictHold), pod.Rule != "" && pod.Why != "", pod.Name)
				}
			}
			require.Equal(t, len(d.Snapshot.Pods), seen)
			require.Equal(t, d.Plan.Budget, v.Budget)
			require.Equal(t, d.Phase, v.Phase)
		})
	}
}

func TestAClaimIsThePodsState(t *testing.T) {
	d := webtest.Books(t, webtest.OnTheWay(5, model.PhaseDraining))
	d.Waiting = map[string]string{"books-5": "shard2 has a new leader: 12 s"}
	pod, _ := podOf(t, NewView(d, Timeline{}), "books-5")
	require.Equal(t, "Draining", pod.State)
	require.Equal(t, "shard2 has a new leader: 12 s", pod.Why)
}

// There is no node to ask.
func TestAPodThatIsAwayKeepsItsZone(t *testing.T) {
	d := webtest.Books(t, webtest.OnTheWay(5, model.PhaseGone), func(s *model.Snapshot) {
		s.Pods[5].Node = ""
		s.Cluster.Status.Claims[0].Zone = "z2"
	})
	_, zone := podOf(t, NewView(d, Timeline{}), "books-5")
	require.Equal(t, "z2", zone)
}

// What is well and up to date is left out first.
func TestAViewIsBounded(t *testing.T) {
	d := webtest.Books(t, webtest.UpdatedTo(0), func(s *model.Snapshot) {
		s.Pools[0].Replicas = maxPods + 100
		for i := 9; i < maxPods+100; i++ {
			p := s.Pods[8]
			p.Name, p.UID, p.Ordinal = fmt.Sprintf("books-%d", i), fmt.Sprintf("u%d", i), int32(i)
			s.Pods = append(s.Pods, p)
		}
		last := &s.Pods[len(s.Pods)-1]
		last.Phase, last.Problem = model.PodPhaseFailed, model.ProblemCrashLoop
	})
	v := NewView(d, Timeline{})
	require.Equal(t, 100, v.Hidden)
	pod, _ := podOf(t, v, fmt.Sprintf("books-%d", maxPods+99))
	require.Equal(t, model.ProblemCrashLoop, pod.Problem)
}

// The page goes over all of them.
func TestNoListIsNull(t *testing.T) {
	s, err := model.Decode([]byte(`{"version":1,"now":"2026-11-20T12:00:00Z","cluster":{"namespace":"a","name":"b"}}`))
	require.NoError(t, err)
	data, err := json.Marshal(NewView(status.FromSnapshot(s), NewTimelines().Of(status.Key{})))
	require.NoError(t, err)
	require.NotContains(t, string(data), "null")
}

func TestCopiesOnPods(t *testing.T) {
	c := NewView(webtest.Books(t, webtest.OnTheWay(5, model.PhaseGone)), Timeline{}).Copies
	require.Len(t, c.Pods, 9)
	require.Len(t, c.Rows, 6)
	// What misses a copy is above what does not.
	require.Less(t, c.Rows[0].There, c.Rows[0].Of)
	require.Equal(t, c.Rows[5].There, c.Rows[5].Of)
	down := 0
	for _, row := range c.Rows {
		leaders := 0
		for _, cell := range row.Cells {
			require.Equal(t, 1, cell.Members)
			if c.Pods[cell.Column] == "books-5" {
				require.Equal(t, model.MemberDown, cell.State)
				down++
			}
			if cell.Leader {
				leaders++
			}
		}
		require.LessOrEqual(t, leaders, 1)
	}
	require.Equal(t, 2, down)
}

// TestACellIsTheWorstOfItsMembers, and members elsewhere have none.
func TestACellIsTheWorstOfItsMembers(t *testing.T) {
	d := webtest.Books(t, func(s *model.Snapshot) {
		s.Groups = []model.Group{{ID: "g", Kind: model.GroupShard, Members: []model.Member{
			{ID: "a", Pod: "books-0", State: model.MemberActive, Leader: true},
			{ID: "b", Pod: "books-0", State: model.MemberRecovering},
			{ID: "c", State: model.MemberActive},
			{ID: "d", Pod: "other-0", State: model.MemberDown},
		}}}
	})
	require.Equal(t, []Row{{
		ID: "g", Kind: model.GroupShard, There: 2, Of: 4, Elsewhere: 2,
		Cells: []Cell{{Column: 0, State: model.MemberRecovering, Leader: true, Members: 2}},
	}}, copiesOf(d).Rows)
}

// Those that miss most are shown.
func TestCopiesAreBounded(t *testing.T) {
	d := webtest.Books(t, func(s *model.Snapshot) {
		for i := range maxGroups {
			s.Groups = append(s.Groups, model.Group{ID: fmt.Sprintf("a/%d", i), Kind: model.GroupShard, Members: []model.Member{{ID: "x", Pod: "books-1", State: model.MemberActive}}})
		}
		s.Groups[5].Members[0].State = model.MemberDown
	})
	c := copiesOf(d)
	require.Equal(t, 6, c.Hidden)
	require.Equal(t, "books/shard6", c.Rows[0].ID)
}

// From the first pod that should go until none does, with what was forecast at the beginning; the
// next begins again.
func TestTimelineOfARollout(t *testing.T) {
	timelines := NewTimelines()
	board := status.NewBoard(timelines)
	board.Lead()
	key := status.Key{Namespace: "prod", Name: "books"}
	board.Publish(webtest.Books(t, webtest.At(0), webtest.UpdatedTo(0)))
	require.Empty(t, timelines.Of(key).Points, "nothing should go: there is no rollout")

	first := webtest.Books(t, webtest.At(10), webtest.UpdatedTo(5))
	for _, d := range []status.Decision{
		first,
		webtest.Books(t, webtest.At(11), webtest.UpdatedTo(5), webtest.OnTheWay(4, model.PhaseDraining)),
		webtest.Books(t, webtest.At(13), webtest.UpdatedTo(5), webtest.OnTheWay(4, model.PhaseGone)),
		webtest.Books(t, webtest.At(20), webtest.UpdatedTo(5), webtest.OnTheWay(4, model.PhaseGone)),
		webtest.Books(t, webtest.At(40), webtest.UpdatedTo(4)),
	} {
		board.Publish(d)
	}
	line := timelines.Of(key)
	moment := func(seconds int) time.Time { return webtest.Noon.Add(time.Duration(seconds) * time.Second) }
	require.Equal(t, moment(10), line.From)
	require.False(t, line.Ended)
	require.Equal(t, []Stretch{
		{Pod: "books-4", State: "Draining", From: moment(11), To: moment(13)},
		{Pod: "books-4", State: "Gone", From: moment(13), To: moment(40)},
	}, line.Stretches)
	require.Equal(t, 5, line.Points[0].Left)
	require.Equal(t, moment(10).Add(time.Duration(first.Plan.Forecast.Seconds)*time.Second), line.Points[0].Ends)
	require.Equal(t, 4, line.Points[len(line.Points)-1].Left)

	board.Publish(webtest.Books(t, webtest.At(100), webtest.UpdatedTo(0)))
	require.True(t, timelines.Of(key).Ended)
	board.Publish(webtest.Books(t, webtest.At(200), webtest.UpdatedTo(0)))
	require.Equal(t, moment(100), timelines.Of(key).To, "what comes after is no part of it")

	board.Publish(webtest.Books(t, webtest.At(300)))
	require.Equal(t, moment(300), timelines.Of(key).From)
	require.Empty(t, timelines.Of(key).Stretches)

	board.Follow("elsewhere:7950")
	require.Empty(t, timelines.Of(key).Points, "a standby shows nothing")
}

// What was forecast at first stays.
func TestATimelineIsBounded(t *testing.T) {
	race.Heavy(t)
	l := &Timeline{Ended: true}
	for i := range 3 * maxStretches {
		changes := []func(*model.Snapshot){webtest.At(i)}
		if i%2 == 1 {
			changes = append(changes, webtest.OnTheWay(1, model.PhaseDraining), webtest.OnTheWay(7, model.PhaseDraining))
		}
		l.note(webtest.Books(t, changes...))
	}
	require.Len(t, l.Points, maxPoints)
	require.Equal(t, webtest.Noon, l.Points[0].At)
	require.Len(t, l.Stretches, maxStretches)
}

// TestAClockThatIsSetBackEndsNothing.
func TestAClockThatIsSetBackEndsNothing(t *testing.T) {
	l := &Timeline{Ended: true}
	l.note(webtest.Books(t, webtest.At(100)))
	l.note(webtest.Books(t, webtest.At(50), webtest.OnTheWay(5, model.PhaseGone)))
	require.Equal(t, webtest.Noon.Add(100*time.Second), l.To)
	require.Empty(t, l.Stretches)
}
