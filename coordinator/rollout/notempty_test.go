package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestNotEmpty(t *testing.T) {
	claim := model.Claim{Pod: "s-1", UID: "u1", Action: model.ActionReplace}
	report := func(uid string) *model.Report {
		return &model.Report{UID: uid, Self: true, Fresh: true, Member: model.MembershipLive}
	}
	byOthers := func(s *model.Snapshot) { s.Pods[1].Phase, s.Pods[1].Report = model.PodPhasePending, nil }
	for name, c := range map[string]struct {
		change func(*model.Snapshot)
		want   string
	}{
		"nothing is left":        {func(*model.Snapshot) {}, ""},
		"others have emptied it": {byOthers, ""},
		"others have emptied it, and see a copy": {func(s *model.Snapshot) {
			byOthers(s)
			s.Groups[0].Members[0] = model.Member{Pod: "s-1", State: model.MemberDown}
		}, "books/1 has a member on it that is Down"},
		"others have emptied it, and nobody knows its name": {func(s *model.Snapshot) {
			byOthers(s)
			s.Pods[1].Name = "s-9"
		}, nameUnknown},
		"others have emptied it, and have not looked since": {func(s *model.Snapshot) {
			byOthers(s)
			s.Pods[0].Report.Fresh = false
		}, "no other member of the database has looked since"},
		"it is no member, and its agent says that it is empty": {func(s *model.Snapshot) {
			s.Pods[1].Report.Member, s.Pods[1].Report.Drain = model.MembershipNotLive, model.DrainDone
		}, ""},
		"it is no member, says that it is empty, and others see a copy": {func(s *model.Snapshot) {
			s.Pods[1].Report.Member, s.Pods[1].Report.Drain = model.MembershipNotLive, model.DrainDone
			s.Groups[0].Members[0] = model.Member{Pod: "s-1", State: model.MemberDown}
		}, "books/1 has a member on it that is Down"},
		"it is no member, is emptied, and nobody knows its name": {func(s *model.Snapshot) {
			s.Pods[1].Report.Member, s.Pods[1].Report.Drain = model.MembershipNotLive, model.DrainDone
			s.Pods[1].Name = "s-9"
		}, "the database does not have it as a member, and so cannot say what is on it"},
		"it may be a member, and is emptied": {func(s *model.Snapshot) {
			s.Pods[1].Report.Member, s.Pods[1].Report.Drain = model.MembershipUnknown, model.DrainDone
		}, "the database does not have it as a member, and so cannot say what is on it"},
		"a role is nothing that is lost": {func(s *model.Snapshot) {
			s.Groups = []model.Group{{ID: "data", Kind: model.GroupRole, Members: []model.Member{{Pod: "s-1", State: model.MemberActive}}}}
		}, ""},
		"a copy is left, in whatever state": {func(s *model.Snapshot) { s.Groups[0].Members[0] = model.Member{Pod: "s-1", State: model.MemberDown} },
			"books/1 has a member on it that is Down"},
		"it votes": {func(s *model.Snapshot) {
			s.Groups = append(s.Groups, model.Group{ID: "coordinators", Kind: model.GroupQuorum, Members: []model.Member{{Pod: "s-1", State: model.MemberActive}}})
		}, "coordinators has a member on it that is Active"},
		"two are left": {func(s *model.Snapshot) {
			s.Groups[0].Members = append(s.Groups[0].Members, model.Member{Pod: "s-1", State: model.MemberMoving}, model.Member{Pod: "s-1", State: model.MemberUnknown})
		}, "books/1 has a member on it that is Moving, and 1 more have"},
		"its own report is old":    {func(s *model.Snapshot) { s.Pods[1].Report.Fresh = false }, "its own agent has not looked since"},
		"it has no report":         {func(s *model.Snapshot) { s.Pods[1].Report = nil }, "its own agent has not looked since"},
		"others speak for it":      {func(s *model.Snapshot) { s.Pods[1].Report.Self = false }, "its own agent has not looked since"},
		"it is no member":          {func(s *model.Snapshot) { s.Pods[1].Report.Member = model.MembershipNotLive }, "the database does not have it as a member, and so cannot say what is on it"},
		"another pod has its name": {func(s *model.Snapshot) { s.Pods[1].UID = "u9" }, "its own agent has not looked since"},
		"nobody else has looked":   {func(s *model.Snapshot) { s.Pods[0].Report.Fresh = false }, "no other member of the database has looked since"},
		"nobody else has an agent": {func(s *model.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report.Self = false, false
		}, "no other member of the database has looked since"},
		"written down as empty, and nobody else has an agent any more": {func(s *model.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report.Self = false, false
		}, ""},
		"written down as empty, nobody else has an agent, and it has not looked": {func(s *model.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report.Self = false, false
			byOthers(s)
		}, "no other member of the database has looked since"},
		"written down as empty, nobody else has an agent, and it has a copy": {func(s *model.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report.Self = false, false
			s.Groups[0].Members[0] = model.Member{Pod: "s-1", State: model.MemberDown}
		}, "books/1 has a member on it that is Down"},
		"written down as empty, and the agent of another is silent": {func(s *model.Snapshot) {
			s.Pods[0].Report.Fresh = false
		}, "no other member of the database has looked since"},
		"written down as empty, and others are only on their way": {func(s *model.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report, s.Pods[0].Phase = false, nil, model.PodPhasePending
		}, "no other member of the database has looked since"},
		"nobody else is a member":   {func(s *model.Snapshot) { s.Pods[0].Report.Member = model.MembershipUnknown }, "no other member of the database has looked since"},
		"it is alone in its world":  {func(s *model.Snapshot) { s.Pods = s.Pods[1:] }, "no other member of the database has looked since"},
		"the copy of another stays": {func(s *model.Snapshot) { s.Groups[0].Members[0].State = model.MemberRecovering }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := model.Snapshot{
				Pods: []model.Pod{
					{Name: "s-0", UID: "u0", Agent: true, Phase: model.PodPhaseReady, Report: report("u0")},
					{Name: "s-1", UID: "u1", Agent: true, Phase: model.PodPhaseReady, Report: report("u1")},
				},
				Groups: []model.Group{{ID: "books/1", Kind: model.GroupShard, Members: []model.Member{{Pod: "s-0", State: model.MemberActive}}}},
			}
			c.change(&s)
			claim := claim
			if strings.HasPrefix(name, "written down") {
				at := model.At(time.Unix(1, 0))
				claim.EmptiedAt = &at
			}
			claim.Pod = s.Pods[len(s.Pods)-1].Name
			others := s.Pods[len(s.Pods)-1].Phase == model.PodPhasePending
			require.Equal(t, c.want, notEmpty(s, claim, map[string]string{"s-1": "node-1"}, others))
		})
	}
}

func TestFollow(t *testing.T) {
	at := model.At(time.Unix(1, 0))
	volumes := []model.VolumeClaim{{Name: "data-s-0", UID: "v"}}
	for name, c := range map[string]struct{ in, want model.Claim }{
		"emptied": {
			model.Claim{ID: "c", UID: "u", Phase: model.PhaseGone, Action: model.ActionReplace, Undo: []byte("x"), Volumes: volumes, EmptiedAt: &at, PodResourceVersion: "4"},
			model.Claim{ID: "c", UID: "w", Phase: model.PhaseEmptied, Action: model.ActionReplace, Undo: []byte("x"), Volumes: volumes, EmptiedAt: &at},
		},
		"not emptied": {
			model.Claim{ID: "c", UID: "u", Phase: model.PhaseGone, Action: model.ActionReplace, Undo: []byte("x"), Volumes: volumes},
			model.Claim{ID: "c", UID: "w", Phase: model.PhaseClaimed, Action: model.ActionReplace, Undo: []byte("x")},
		},
	} {
		status := Record{Claims: []model.Claim{c.in}}
		Edits{Successors: map[string]string{"c": "w"}}.Apply(&status)
		require.Equal(t, []model.Claim{c.want}, status.Claims, name)
	}
}
