package view

import (
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Basis is what a snapshot was made of. Agents observe their databases continuously and mostly see
// the same, so most reports say nothing new.
//
// Invariant: of an input for which Stands is true, Look makes the same snapshot but for Now, ages
// and, by less than settledSlack, since when pods are settled or not live.
//
// Of the objects it keeps only a digest: it exists for as long as a database rests, and the facts
// of its pods would be in memory twice.
type Basis struct {
	in      Input
	objects uint64
	// contested is true if not all reports name the same leader of a group, so that it matters
	// which is newest.
	contested bool
	// disputed are the groups of which not all agree who leads, though a majority does.
	disputed map[string]bool
	until    time.Time
}

// settledSlack is how far apart two reports may be about since when a pod has been settled.
const settledSlack = time.Second

// Until returns when time alone may change the snapshot. It returns zero if it does not.
func (b *Basis) Until() time.Time { return b.until }

// Agents returns what the agents had said.
func (b *Basis) Agents() agents.State { return b.in.Agents }

// Disputed reports whether a report that counts names another leader of the group than the snapshot.
func (b *Basis) Disputed(group string) bool { return b.disputed[group] }

// Stands reports whether is still makes the same snapshot.
func (b *Basis) Stands(is Input) bool {
	was := b.in
	is.MaxAge = maxAge(is)
	switch {
	case !b.until.IsZero() && !is.Now.Before(b.until):
		return false
	case is.Idle != was.Idle, !is.Barrier.Equal(was.Barrier), is.MaxAge != was.MaxAge, !reflect.DeepEqual(is.Engine, was.Engine), is.Paused != was.Paused,
		is.GuardEnforcing != was.GuardEnforcing, is.Fleet != was.Fleet:
		return false
	}
	return sameCluster(was.Kube.Cluster, is.Kube.Cluster) && b.objects == digest(is.Kube) && maps.Equal(was.Agents.Skews, is.Agents.Skews) &&
		maps.Equal(was.Agents.Refused, is.Agents.Refused) && b.sameReports(is) && sameRosters(was, is)
}

func newBasis(in Input, w *world, until time.Time) *Basis {
	b := &Basis{in: in, objects: digest(in.Kube), contested: w.contested, disputed: w.disputed, until: until}
	b.in.Kube = kube.ClusterObjects{Cluster: in.Kube.Cluster}
	return b
}

// seed is the same for all digests of this process.
var seed = maphash.MakeSeed()

// digest returns a digest of the objects besides the DatabaseCluster. An object that was written
// since has another resourceVersion. Of a node only the fields that are read count.
func digest(o kube.ClusterObjects) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, [2]int{len(o.Pools), len(o.Pods)})
	for i := range o.Pools {
		maphash.WriteComparable(&h, o.Pools[i])
	}
	for i := range o.Pods {
		maphash.WriteComparable(&h, o.Pods[i])
	}
	nodes := uint64(0) // a sum, because they have no order
	for name, node := range o.Nodes {
		var n maphash.Hash
		n.SetSeed(seed)
		maphash.WriteComparable(&n, nodeFacts{name, node.Name, zoneOf(o.Cluster, node), node.Cordoned, node.Silent})
		for _, taint := range node.Taints {
			maphash.WriteComparable(&n, taint)
		}
		nodes += n.Sum64()
	}
	maphash.WriteComparable(&h, nodes)
	return h.Sum64()
}

type nodeFacts struct {
	key, name, zone  string
	cordoned, silent bool
}

func sameCluster(a, b *v1alpha1.DatabaseCluster) bool {
	return a == b || a.UID == b.UID && a.ResourceVersion == b.ResourceVersion && a.ResourceVersion != ""
}

func (b *Basis) sameReports(is Input) bool {
	for i := range is.Kube.Pods {
		uid := string(is.Kube.Pods[i].UID)
		x, y := b.in.Agents.Reports[uid], is.Agents.Reports[uid]
		if x == y {
			continue
		}
		if b.contested || fresh(b.in, x.At) != fresh(is, y.At) || tooOld(b.in, x.At) != tooOld(is, y.At) || !sameReport(x, y) {
			return false
		}
	}
	return true
}

// sameReport compares everything that is read of a report, anywhere. See its test.
func sameReport(x, y agents.Received) bool {
	a, b := x.Report, y.Report
	if a == nil || b == nil {
		return a == b
	}
	return (a.GetError() == "") == (b.GetError() == "") && a.GetIdentity().GetIncarnation() == b.GetIdentity().GetIncarnation() &&
		a.GetEngineVersion() == b.GetEngineVersion() && a.GetNode() == b.GetNode() && a.GetMember() == b.GetMember() &&
		slices.Equal(a.GetRoles(), b.GetRoles()) && a.GetRank() == b.GetRank() && a.GetLast() == b.GetLast() && a.GetTopology() == b.GetTopology() &&
		a.GetSettled() == b.GetSettled() && (!a.GetSettled() || sameSince(x, y, settledSince)) &&
		(a.GetMember() != rollcallv1.Membership_MEMBERSHIP_NOT_LIVE || sameSince(x, y, notLiveSince)) &&
		a.GetBusy() == b.GetBusy() && a.GetExcluded() == b.GetExcluded() && a.GetVeto() == b.GetVeto() && slices.Equal(a.GetAfter(), b.GetAfter()) && a.GetDrain() == b.GetDrain() && a.GetDrainDetail() == b.GetDrainDetail() &&
		a.GetVerdict() == b.GetVerdict() && a.GetVerdictReason() == b.GetVerdictReason() &&
		slices.EqualFunc(a.GetGroups(), b.GetGroups(), sameGroup) && slices.EqualFunc(a.GetNodes(), b.GetNodes(), sameNode)
}

// sameSince reports whether the pod has been in that state all the time.
func sameSince(x, y agents.Received, since func(agents.Received) time.Time) bool {
	return x.At.IsZero() == y.At.IsZero() && since(x).Sub(since(y)).Abs() < settledSlack
}

func settledSince(r agents.Received) time.Time {
	return r.At.Add(-max(0, r.Report.GetSettledFor().AsDuration()))
}

func notLiveSince(r agents.Received) time.Time {
	return r.At.Add(-max(0, r.Report.GetNotLive().AsDuration()))
}

func sameGroup(a, b *rollcallv1.Group) bool {
	return a.GetId() == b.GetId() && a.GetKind() == b.GetKind() && a.GetMinAvailable() == b.GetMinAvailable() &&
		a.GetNeedsLeader() == b.GetNeedsLeader() && a.GetMoving() == b.GetMoving() && slices.EqualFunc(a.GetMembers(), b.GetMembers(), sameMember)
}

func sameMember(a, b *rollcallv1.Member) bool {
	return a.GetId() == b.GetId() && a.GetNode() == b.GetNode() && a.GetState() == b.GetState() && a.GetLeader() == b.GetLeader() &&
		a.GetEligible() == b.GetEligible() && a.GetProgress() == b.GetProgress() && a.GetDomain() == b.GetDomain()
}

// sameRosters compares all of the rosters of an idle cluster. Otherwise it compares only bad news
// and names, whichever roster has them.
func sameRosters(was, is Input) bool {
	if slices.EqualFunc(was.Agents.Rosters, is.Agents.Rosters, func(a, b agents.ReceivedRoster) bool { return a.Roster == b.Roster }) {
		return true
	}
	if is.Idle {
		return slices.EqualFunc(was.Agents.Rosters, is.Agents.Rosters, func(a, b agents.ReceivedRoster) bool {
			return a.UID == b.UID && slices.EqualFunc(a.Roster.GetEntries(), b.Roster.GetEntries(), sameEntry)
		})
	}
	if !maps.Equal(namesTold(was), namesTold(is)) {
		return false
	}
	before, after := headlines(was.Agents.Rosters), headlines(is.Agents.Rosters)
	for i := range is.Kube.Pods {
		uid := string(is.Kube.Pods[i].UID)
		a, b := gossiped(before[uid], was.Agents.Reports[uid].Report), gossiped(after[uid], is.Agents.Reports[uid].Report)
		if saysNotLive(a) != saysNotLive(b) || saysRed(a) != saysRed(b) {
			return false
		}
	}
	return true
}

func sameEntry(a, b *rollcallv1.RosterEntry) bool {
	x, y := a.GetHeadline(), b.GetHeadline()
	return a.GetLiveness() == b.GetLiveness() && x.GetPod() == y.GetPod() && x.GetPodUid() == y.GetPodUid() &&
		x.GetIncarnation() == y.GetIncarnation() && x.GetSequence() == y.GetSequence() && x.GetNode() == y.GetNode() &&
		x.GetMember() == y.GetMember() && x.GetVerdict() == y.GetVerdict() && x.GetDrain() == y.GetDrain() && slices.Equal(x.GetRoles(), y.GetRoles())
}

// named is a pod and one of its names in the database.
type named struct{ pod, node string }

func namesTold(in Input) map[named]bool {
	names := map[named]bool{}
	for _, roster := range in.Agents.Rosters {
		for _, e := range roster.Roster.GetEntries() {
			if h := e.GetHeadline(); h.GetNode() != "" {
				names[named{h.GetPod(), h.GetNode()}] = true
			}
		}
	}
	return names
}

// timely returns when time alone may change next what is made of an input.
func timely(in Input, window model.WindowState) time.Time {
	var next time.Time
	at := func(t time.Time) {
		if t.After(in.Now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for i := range in.Kube.Pods {
		p := &in.Kube.Pods[i]
		if r, ok := in.Agents.Reports[string(p.UID)]; ok && !r.At.IsZero() {
			at(r.At.Add(in.MaxAge + 1))
		}
		switch {
		case p.Phase == kube.Ready:
			at(p.Since.Add(in.MaxAge)) // it is established
		case p.Phase == kube.Terminating:
			at(p.Deleted.Add(stuckAfter + 1))
			if in.Kube.Cluster.Spec.Replacement.Enabled {
				at(p.Since.Add(stuckEndingFor))
			}
		}
		if p.Problem == kube.Volume {
			at(p.Since.Add(stuckAfter + 1))
		}
		if forget, ok := unattendedAt(p, in.Kube.Cluster); ok && len(in.Known) > 0 {
			at(forget)
		}
	}
	if window.NextChange != nil {
		at(window.NextChange.Time)
	}
	at(NextRestart(in.Kube.Cluster, in.Now))
	return next
}
