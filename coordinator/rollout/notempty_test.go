package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func TestNotEmpty(t *testing.T) {
	claim := policy.Claim{Pod: "s-1", UID: "u1", Action: policy.Replace}
	report := func(uid string) *policy.Report {
		return &policy.Report{UID: uid, Self: true, Fresh: true, Member: policy.Live}
	}
	byOthers := func(s *policy.Snapshot) { s.Pods[1].Phase, s.Pods[1].Report = policy.Pending, nil }
	for name, c := range map[string]struct {
		change func(*policy.Snapshot)
		want   string
	}{
		"nothing is left":        {func(*policy.Snapshot) {}, ""},
		"others have emptied it": {byOthers, ""},
		"others have emptied it, and see a copy": {func(s *policy.Snapshot) {
			byOthers(s)
			s.Groups[0].Members[0] = policy.Member{Pod: "s-1", State: policy.Down}
		}, "books/1 has a member on it that is Down"},
		"others have emptied it, and nobody knows its name": {func(s *policy.Snapshot) {
			byOthers(s)
			s.Pods[1].Name = "s-9"
		}, nameUnknown},
		"others have emptied it, and have not looked since": {func(s *policy.Snapshot) {
			byOthers(s)
			s.Pods[0].Report.Fresh = false
		}, "no other member of the database has looked since"},
		"it is no member, and its agent says that it is empty": {func(s *policy.Snapshot) {
			s.Pods[1].Report.Member, s.Pods[1].Report.Drain = policy.NotLive, policy.DrainPrepared
		}, ""},
		"it is no member, says that it is empty, and others see a copy": {func(s *policy.Snapshot) {
			s.Pods[1].Report.Member, s.Pods[1].Report.Drain = policy.NotLive, policy.DrainPrepared
			s.Groups[0].Members[0] = policy.Member{Pod: "s-1", State: policy.Down}
		}, "books/1 has a member on it that is Down"},
		"it is no member, is emptied, and nobody knows its name": {func(s *policy.Snapshot) {
			s.Pods[1].Report.Member, s.Pods[1].Report.Drain = policy.NotLive, policy.DrainPrepared
			s.Pods[1].Name = "s-9"
		}, "the database does not have it as a member, and so cannot say what is on it"},
		"it may be a member, and is emptied": {func(s *policy.Snapshot) {
			s.Pods[1].Report.Member, s.Pods[1].Report.Drain = policy.UnknownMember, policy.DrainPrepared
		}, "the database does not have it as a member, and so cannot say what is on it"},
		"a role is nothing that is lost": {func(s *policy.Snapshot) {
			s.Groups = []policy.Group{{ID: "data", Kind: policy.Role, Members: []policy.Member{{Pod: "s-1", State: policy.Active}}}}
		}, ""},
		"a copy is left, in whatever state": {func(s *policy.Snapshot) { s.Groups[0].Members[0] = policy.Member{Pod: "s-1", State: policy.Down} },
			"books/1 has a member on it that is Down"},
		"it votes": {func(s *policy.Snapshot) {
			s.Groups = append(s.Groups, policy.Group{ID: "coordinators", Kind: policy.Quorum, Members: []policy.Member{{Pod: "s-1", State: policy.Active}}})
		}, "coordinators has a member on it that is Active"},
		"two are left": {func(s *policy.Snapshot) {
			s.Groups[0].Members = append(s.Groups[0].Members, policy.Member{Pod: "s-1", State: policy.Moving}, policy.Member{Pod: "s-1", State: policy.UnknownState})
		}, "books/1 has a member on it that is Moving, and 1 more have"},
		"its own report is old":    {func(s *policy.Snapshot) { s.Pods[1].Report.Fresh = false }, "its own agent has not looked since"},
		"it has no report":         {func(s *policy.Snapshot) { s.Pods[1].Report = nil }, "its own agent has not looked since"},
		"others speak for it":      {func(s *policy.Snapshot) { s.Pods[1].Report.Self = false }, "its own agent has not looked since"},
		"it is no member":          {func(s *policy.Snapshot) { s.Pods[1].Report.Member = policy.NotLive }, "the database does not have it as a member, and so cannot say what is on it"},
		"another pod has its name": {func(s *policy.Snapshot) { s.Pods[1].UID = "u9" }, "its own agent has not looked since"},
		"nobody else has looked":   {func(s *policy.Snapshot) { s.Pods[0].Report.Fresh = false }, "no other member of the database has looked since"},
		"nobody else has an agent": {func(s *policy.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report.Self = false, false
		}, "no other member of the database has looked since"},
		"written down as empty, and nobody else has an agent any more": {func(s *policy.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report.Self = false, false
		}, ""},
		"written down as empty, nobody else has an agent, and it has not looked": {func(s *policy.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report.Self = false, false
			byOthers(s)
		}, "no other member of the database has looked since"},
		"written down as empty, nobody else has an agent, and it has a copy": {func(s *policy.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report.Self = false, false
			s.Groups[0].Members[0] = policy.Member{Pod: "s-1", State: policy.Down}
		}, "books/1 has a member on it that is Down"},
		"written down as empty, and the agent of another is silent": {func(s *policy.Snapshot) {
			s.Pods[0].Report.Fresh = false
		}, "no other member of the database has looked since"},
		"written down as empty, and others are only on their way": {func(s *policy.Snapshot) {
			s.Pods[0].Agent, s.Pods[0].Report, s.Pods[0].Phase = false, nil, policy.Pending
		}, "no other member of the database has looked since"},
		"nobody else is a member":   {func(s *policy.Snapshot) { s.Pods[0].Report.Member = policy.UnknownMember }, "no other member of the database has looked since"},
		"it is alone in its world":  {func(s *policy.Snapshot) { s.Pods = s.Pods[1:] }, "no other member of the database has looked since"},
		"the copy of another stays": {func(s *policy.Snapshot) { s.Groups[0].Members[0].State = policy.Recovering }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := policy.Snapshot{
				Pods: []policy.Pod{
					{Name: "s-0", UID: "u0", Agent: true, Phase: policy.Ready, Report: report("u0")},
					{Name: "s-1", UID: "u1", Agent: true, Phase: policy.Ready, Report: report("u1")},
				},
				Groups: []policy.Group{{ID: "books/1", Kind: policy.Shard, Members: []policy.Member{{Pod: "s-0", State: policy.Active}}}},
			}
			c.change(&s)
			claim := claim
			if strings.HasPrefix(name, "written down") {
				at := policy.At(time.Unix(1, 0))
				claim.EmptiedAt = &at
			}
			claim.Pod = s.Pods[len(s.Pods)-1].Name
			others := s.Pods[len(s.Pods)-1].Phase == policy.Pending
			require.Equal(t, c.want, notEmpty(s, claim, map[string]string{"s-1": "node-1"}, others))
		})
	}
}

func TestFollow(t *testing.T) {
	at := policy.At(time.Unix(1, 0))
	volumes := []policy.VolumeClaim{{Name: "data-s-0", UID: "v"}}
	for name, c := range map[string]struct{ in, want policy.Claim }{
		"emptied": {
			policy.Claim{ID: "c", UID: "u", Phase: policy.PhaseGone, Action: policy.Replace, Undo: []byte("x"), Volumes: volumes, EmptiedAt: &at, PodResourceVersion: "4"},
			policy.Claim{ID: "c", UID: "w", Phase: policy.PhaseEmptied, Action: policy.Replace, Undo: []byte("x"), Volumes: volumes, EmptiedAt: &at},
		},
		"not emptied": {
			policy.Claim{ID: "c", UID: "u", Phase: policy.PhaseGone, Action: policy.Replace, Undo: []byte("x"), Volumes: volumes},
			policy.Claim{ID: "c", UID: "w", Phase: policy.PhaseClaimed, Action: policy.Replace, Undo: []byte("x")},
		},
	} {
		status := Record{Claims: []policy.Claim{c.in}}
		Edits{Follow: map[string]string{"c": "w"}}.Apply(&status)
		require.Equal(t, []policy.Claim{c.want}, status.Claims, name)
	}
}
