package view

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// What agents' words are in a snapshot, by their number.
var (
	memberships = []model.Membership{
		rollcallv1.Membership_MEMBERSHIP_LIVE:     model.MembershipLive,
		rollcallv1.Membership_MEMBERSHIP_NOT_LIVE: model.MembershipNotLive,
	}
	drains = []model.DrainState{
		rollcallv1.Drain_DRAIN_DRAINING: model.DrainRunning,
		rollcallv1.Drain_DRAIN_DRAINED:  model.DrainDone,
		rollcallv1.Drain_DRAIN_REFUSED:  model.DrainRefused,
	}
	memberStates = []model.MemberState{
		rollcallv1.MemberState_MEMBER_STATE_ACTIVE:     model.MemberActive,
		rollcallv1.MemberState_MEMBER_STATE_RECOVERING: model.MemberRecovering,
		rollcallv1.MemberState_MEMBER_STATE_MOVING:     model.MemberMoving,
		rollcallv1.MemberState_MEMBER_STATE_DOWN:       model.MemberDown,
	}
	topologies = []model.Topology{
		rollcallv1.Topology_TOPOLOGY_SWITCHABLE:        model.TopologySwitchable,
		rollcallv1.Topology_TOPOLOGY_FIXED_PRIMARY:     model.TopologyFixedPrimary,
		rollcallv1.Topology_TOPOLOGY_GALERA:            model.TopologyGalera,
		rollcallv1.Topology_TOPOLOGY_GROUP_REPLICATION: model.TopologyGroupReplication,
		rollcallv1.Topology_TOPOLOGY_SINGLE_SERVER:     model.TopologySingleServer,
	}
	groupKinds = []model.GroupKind{
		rollcallv1.GroupKind_GROUP_KIND_SHARD:  model.GroupShard,
		rollcallv1.GroupKind_GROUP_KIND_QUORUM: model.GroupQuorum,
		rollcallv1.GroupKind_GROUP_KIND_ACKS:   model.GroupAcks,
		rollcallv1.GroupKind_GROUP_KIND_ROLE:   model.GroupRole,
	}
)

// unknownKind is left to the policy, which refuses it by name.
const unknownKind model.GroupKind = "Unknown"

// meaning looks a word up; unknown: it has none here.
func meaning[T ~string, W ~int32](table []T, word W, unknown T) T {
	if word >= 0 && int(word) < len(table) && table[word] != "" {
		return table[word]
	}
	return unknown
}

// byBadness are the states of a member. Unknown is the worst: it never permits.
var byBadness = []model.MemberState{model.MemberActive, model.MemberMoving, model.MemberRecovering, model.MemberDown, model.MemberUnknown}

func worse(a, b model.MemberState) model.MemberState {
	if slices.Index(byBadness, b) > slices.Index(byBadness, a) {
		return b
	}
	return a
}
