package run

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/coordinator"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Bug is one that is planted to check the checker: something between Rollcall's
// parts is wrong in a way in which a part itself could be. To add one, add it to
// Bugs.
type Bug struct {
	Name string
	// Finds is the invariant that notices.
	Finds string

	client   api.Careless
	cache    func(o *kube.ClusterObjects)
	report   func(r *rollcallv1.Report)
	decision func(w *world, d *status.Decision)
	world    func(w *world)
}

// Bugs are all of them.
var Bugs = []Bug{
	{Name: "removals without preconditions", Finds: "I5", client: api.Careless{Preconditions: true}},
	{Name: "removals sent again", Finds: "I4 I5", client: api.Careless{Again: true}},
	{Name: "one pod more than may", Finds: "I2", cache: func(o *kube.ClusterObjects) {
		o.Cluster = o.Cluster.DeepCopy()
		five := model.Count(5)
		o.Cluster.Spec.Policy.MaxUnavailable = &five
	}},
	{Name: "one copy more than may", Finds: "I1", cache: func(o *kube.ClusterObjects) {
		o.Cluster = o.Cluster.DeepCopy()
		five := model.Count(5)
		o.Cluster.Spec.Policy.MaxShardUnavailable = &five
	}},
	{Name: "no revision is ever the right one", Finds: "I7", cache: func(o *kube.ClusterObjects) {
		for i := range o.Pools {
			o.Pools[i].Revision += "-not"
		}
	}},
	{Name: "later templates are not seen", Finds: "L2", cache: func(o *kube.ClusterObjects) {
		for i := range o.Pools {
			if o.Pools[i].Revision != "v1" {
				o.Pools[i].Revision = "v2"
			}
		}
		for i := range o.Pods {
			if o.Pods[i].Revision != "v1" {
				o.Pods[i].Revision = "v2"
			}
		}
	}},
	{Name: "the last need not be last", Finds: "I8", report: func(r *rollcallv1.Report) { r.Last, r.Roles = false, nil }},
	{Name: "recovering counts as active", Finds: "I1 I2", report: func(r *rollcallv1.Report) {
		r.Settled = r.Member == rollcallv1.Membership_MEMBERSHIP_LIVE
		for _, g := range r.Groups {
			for _, m := range g.Members {
				if m.State == rollcallv1.MemberState_MEMBER_STATE_RECOVERING {
					m.State = rollcallv1.MemberState_MEMBER_STATE_ACTIVE
				}
			}
		}
	}},
	{Name: "restores do nothing", Finds: "I11", world: func(w *world) { w.db.NoRestore, w.db.NoSweep = true, true }},
	{Name: "what belongs to the whole database is not put back", Finds: "I11 L1", world: func(w *world) { w.db.NoRestoreShared = true }},
	{Name: "holds without a reason", Finds: "L3", decision: func(_ *world, d *status.Decision) { d.Plan.Holds, d.Claims, d.Plan.Steps = nil, nil, nil }},
	{Name: "the stop token is printed", Finds: "I12", decision: func(w *world, _ *status.Decision) {
		w.loop.Ask("printed", func() { w.loop.Log("agent", "listens with token %s", secret) })
	}},
	{Name: "limits of zones are not known", Finds: "I2", cache: spec(func(s *model.Spec) { s.Policy.MaxZonesUnavailable = nil })},
	{Name: "a pause is not known", Finds: "I13", cache: spec(func(s *model.Spec) { s.Update.Paused = false })},
	{Name: "who only looks on acts", Finds: "I13", cache: spec(func(s *model.Spec) { s.Update.Mode = model.ModeAuto })},
	{Name: "windows are always open", Finds: "I13", cache: spec(func(s *model.Spec) { s.Update.Windows = nil })},
	{Name: "data that is gone with its pod is kept", Finds: "V3", cache: spec(func(s *model.Spec) { s.Drain.Data.Restart = model.DataKeep })},
	{Name: "a zone at a time is one pod and all others", Finds: "I2", cache: spec(func(s *model.Spec) {
		if s.Policy.Unit == model.UnitZone {
			five := model.Count(5)
			s.Policy.MaxUnavailable = &five
		}
	})},
	{Name: "everybody has approved of everything", Finds: "I2", cache: func(o *kube.ClusterObjects) {
		o.Cluster = o.Cluster.DeepCopy()
		o.Cluster.Status.Approvals = append(o.Cluster.Status.Approvals, model.Approval{What: model.ApprovedOutage})
	}},
	{Name: "a quorum may be lost", Finds: "I1", report: groups(func(g *rollcallv1.Group) {
		if g.Kind == rollcallv1.GroupKind_GROUP_KIND_QUORUM {
			g.Kind, g.MinAvailable = rollcallv1.GroupKind_GROUP_KIND_ROLE, 1
		}
	})},
	{Name: "nobody needs to acknowledge", Finds: "I1", report: groups(func(g *rollcallv1.Group) {
		if g.Kind == rollcallv1.GroupKind_GROUP_KIND_ACKS {
			g.MinAvailable = 0
		}
	})},
	{Name: "ranks are not told", Finds: "I8", report: func(r *rollcallv1.Report) { r.Rank = 0 }},
	{Name: "vetoes are not told", Finds: "I9", report: func(r *rollcallv1.Report) { r.Veto = "" }},
	{Name: "a lost session is a failure of long standing", Finds: "I1 I2 I3 I10", report: func(r *rollcallv1.Report) {
		if r.Member == rollcallv1.Membership_MEMBERSHIP_NOT_LIVE {
			r.NotLive = durationpb.New(time.Hour)
		}
	}},
	{Name: "who has lost its session is a member", Finds: "I1 I2 I3", report: func(r *rollcallv1.Report) {
		r.Member, r.Settled = rollcallv1.Membership_MEMBERSHIP_LIVE, true
		for _, n := range r.Nodes {
			n.Member = rollcallv1.Membership_MEMBERSHIP_LIVE
		}
		for _, g := range r.Groups {
			for _, m := range g.Members {
				m.State = rollcallv1.MemberState_MEMBER_STATE_ACTIVE
			}
		}
	}},
	{Name: "who is missing has no vote", Finds: "G1", world: blind, cache: spec(unlimited), report: groups(func(g *rollcallv1.Group) {
		if g.Kind == rollcallv1.GroupKind_GROUP_KIND_QUORUM {
			g.Members = slices.DeleteFunc(g.Members, func(m *rollcallv1.Member) bool { return m.State == rollcallv1.MemberState_MEMBER_STATE_DOWN })
			g.MinAvailable = int32(len(g.Members)/2 + 1)
		}
	})},
	{Name: "votes are not counted", Finds: "G1", world: blind, cache: spec(unlimited), report: groups(func(g *rollcallv1.Group) {
		if g.Kind == rollcallv1.GroupKind_GROUP_KIND_QUORUM {
			g.Kind, g.MinAvailable = rollcallv1.GroupKind_GROUP_KIND_ROLE, 1
		}
	})},
	{Name: "donors are told as others", Finds: "G2", world: blind, cache: spec(unlimited), report: func(r *rollcallv1.Report) {
		r.Busy = ""
		told(r, rollcallv1.MemberState_MEMBER_STATE_DOWN, rollcallv1.MemberState_MEMBER_STATE_RECOVERING)
	}},
	{Name: "nobody ever goes", Finds: "L1", cache: func(o *kube.ClusterObjects) {
		o.Cluster = o.Cluster.DeepCopy()
		o.Cluster.Spec.Update.Paused = true
	}},
}

// spec is a cache in which what is asked for looks different.
func spec(change func(s *model.Spec)) func(o *kube.ClusterObjects) {
	return func(o *kube.ClusterObjects) {
		o.Cluster = o.Cluster.DeepCopy()
		change(&o.Cluster.Spec)
	}
}

// unlimited is a policy by which many may be unavailable.
func unlimited(s *model.Spec) {
	five := model.Count(5)
	s.Policy.MaxUnavailable, s.Policy.MaxShardUnavailable = &five, &five
}

// blind has members of Galera leave without waiting for anything.
func blind(w *world) { w.db.BlindDrains = true }

// told is a report in which members in some states are told as active, and all is well.
func told(r *rollcallv1.Report, as ...rollcallv1.MemberState) {
	r.Settled, r.Verdict = r.Member == rollcallv1.Membership_MEMBERSHIP_LIVE, rollcallv1.Verdict_VERDICT_GREEN
	for _, n := range r.Nodes {
		n.Member = rollcallv1.Membership_MEMBERSHIP_LIVE
	}
	for _, g := range r.Groups {
		for _, m := range g.Members {
			if slices.Contains(as, m.State) {
				m.State = rollcallv1.MemberState_MEMBER_STATE_ACTIVE
			}
		}
	}
}

// groups is a report in which every group looks different.
func groups(change func(g *rollcallv1.Group)) func(r *rollcallv1.Report) {
	return func(r *rollcallv1.Report) {
		for _, g := range r.Groups {
			change(g)
		}
	}
}

// plant makes a world have a bug; nil is none.
func (w *world) plant(bug *Bug) {
	w.bug = bug
	if bug == nil {
		return
	}
	if bug.world != nil {
		bug.world(w)
	}
	if bug.report != nil {
		w.hub.Misread = func(r *rollcallv1.Report) *rollcallv1.Report {
			r = proto.CloneOf(r)
			bug.report(r)
			return r
		}
	}
}

// lens is a cache through which things look different.
type lens struct {
	coordinator.Cache
	change func(o *kube.ClusterObjects)
}

func (l lens) Cluster(key kube.Key) (kube.ClusterObjects, bool) {
	o, ok := l.Cache.Cluster(key)
	if ok && l.change != nil {
		l.change(&o)
	}
	return o, ok
}
