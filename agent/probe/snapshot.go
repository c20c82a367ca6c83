package probe

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rollcall-dev/rollcall/agent/term"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Snapshot is everything that reports and headlines are made of, at one moment. It
// is immutable; messages made from it share its groups and nodes.
type Snapshot struct {
	Identity  *rollcallv1.Identity
	run       term.Run
	engine    string
	Result    Result
	own, all  []*rollcallv1.Group
	nodes     []*rollcallv1.MemberNode
	drain     DrainStatus
	repairing string
	Phase     rollcallv1.Phase
	epoch     int64
	// Digest is of the report without anything that changes with time alone.
	Digest uint64
}

// DrainStatus is what others may know of the current drain.
type DrainStatus struct {
	State       rollcallv1.Drain
	Claim       string
	Detail      string
	Done, Total int
}

// Report renders the snapshot as of now. All times are durations on the agent's
// clock, so that nobody needs the same clock.
func (v *Snapshot) Report(now time.Time, allGroups bool) *rollcallv1.Report {
	r := v.timeless(allGroups)
	r.Uptime = v.run.Uptime(now)
	s := v.Result
	r.Sequence = s.Sequence
	if s.Sequence == 0 {
		return r
	}
	r.Age = durationpb.New(now.Sub(s.Started))
	r.ObservedAt = timestamppb.New(s.Started)
	r.NotLive = s.notLive()
	r.SettledFor = since(s.settledSince, now)
	r.DataBytes = s.Observation.DataBytes
	return r
}

func (v *Snapshot) timeless(allGroups bool) *rollcallv1.Report {
	o := v.Result.Observation
	r := &rollcallv1.Report{
		Identity:      v.Identity,
		Engine:        v.engine,
		EngineVersion: o.Version,
		Node:          v.Result.Node,
		Member:        protoMembership(o.Member),
		Roles:         o.Roles,
		Rank:          int32(o.Rank),
		Last:          o.Last,
		Topology:      protoTopology(o.Topology),
		Settled:       o.Member == engines.MembershipLive && o.Settled,
		Busy:          o.Busy,
		Veto:          o.Veto,
		After:         o.After,
		Drain:         v.drain.State,
		DrainClaim:    v.drain.Claim,
		DrainDetail:   v.drain.Detail,
		Verdict:       protoVerdict(o.Health.Verdict),
		VerdictReason: o.Health.Reason,
		Groups:        v.own,
		AllGroups:     allGroups,
		Nodes:         v.nodes,
		Epoch:         v.epoch,
		Repairing:     v.repairing,
		Excluded:      o.Excluded,
	}
	if allGroups {
		r.Groups = v.all
	}
	switch {
	case v.Result.Sequence == 0:
		r.Error = "the database has not been observed yet"
	case v.Result.Err != nil:
		r.Error = v.Result.Err.Error()
	}
	return r
}

// Headline leaves Sequence, Alive and Address to the announcer.
func (v *Snapshot) Headline() *rollcallv1.Headline {
	o := v.Result.Observation
	return &rollcallv1.Headline{
		Pod:         v.Identity.Pod,
		PodUid:      v.Identity.PodUid,
		Incarnation: v.Identity.Incarnation,
		Phase:       v.Phase,
		Member:      protoMembership(o.Member),
		Verdict:     protoVerdict(o.Health.Verdict),
		Drain:       v.drain.State,
		Roles:       o.Roles,
		Digest:      v.Digest,
		Node:        v.Result.Node,
		Epoch:       v.epoch,
		Zone:        v.Identity.Zone,
	}
}

// complete derives the messages' groups and nodes, once for all messages.
func (v Snapshot) complete() (*Snapshot, error) {
	o := v.Result.Observation
	v.own, v.all = nil, make([]*rollcallv1.Group, 0, len(o.Groups))
	for _, g := range o.Groups {
		group := protoGroup(g)
		v.all = append(v.all, group)
		if v.Result.Node != "" && g.Has(v.Result.Node) {
			v.own = append(v.own, group)
		}
	}
	v.nodes = make([]*rollcallv1.MemberNode, 0, len(o.Nodes))
	for _, n := range o.Nodes {
		v.nodes = append(v.nodes, &rollcallv1.MemberNode{Name: n.Name, Address: n.Address, Member: protoMembership(n.State)})
	}
	return v.digested()
}

func (v Snapshot) digested() (*Snapshot, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(v.timeless(false))
	if err != nil {
		// The only cause is a string from the database that is not UTF-8.
		return nil, fmt.Errorf("report cannot be encoded: %w", err)
	}
	sum := sha256.Sum256(data)
	v.Digest = binary.BigEndian.Uint64(sum[:8])
	return &v, nil
}

func protoGroup(g engines.Group) *rollcallv1.Group {
	group := &rollcallv1.Group{
		Id:           g.ID,
		Kind:         rollcallv1.GroupKind(protoEnum(g.Kind, engines.GroupRole)),
		MinAvailable: int32(g.MinAvailable),
		NeedsLeader:  g.NeedsLeader,
		Moving:       g.Moving,
		Members:      make([]*rollcallv1.Member, 0, len(g.Members)),
	}
	for _, m := range g.Members {
		group.Members = append(group.Members, &rollcallv1.Member{
			Id:       m.ID,
			Node:     m.Node,
			State:    rollcallv1.MemberState(protoEnum(m.State, engines.MemberDown)),
			Leader:   m.Leader,
			Eligible: m.Eligible,
			Progress: m.Progress,
			Domain:   m.Domain,
		})
	}
	return group
}

func protoMembership(m engines.Membership) rollcallv1.Membership {
	return rollcallv1.Membership(protoEnum(m, engines.MembershipNotLive))
}

func protoVerdict(v engines.Verdict) rollcallv1.Verdict {
	return rollcallv1.Verdict(protoEnum(v, engines.VerdictRed))
}

func protoTopology(t engines.Topology) rollcallv1.Topology {
	return rollcallv1.Topology(protoEnum(t, engines.SingleServer))
}

// protoEnum relies on both sides using the same numbers, which TestEnumsCountAlike
// ensures. A value out of range becomes unspecified.
func protoEnum[E ~uint8](e, last E) int32 {
	if e > last {
		return 0
	}
	return int32(e)
}

func since(start, now time.Time) *durationpb.Duration {
	if start.IsZero() {
		return nil
	}
	return durationpb.New(now.Sub(start))
}
