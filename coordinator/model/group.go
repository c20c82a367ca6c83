package model

// Group is a redundancy group: copies of which only so many may be missing at once.
type Group struct {
	ID   string    `json:"id"`
	Kind GroupKind `json:"kind"`
	// MinAvailable is set by the engine for Quorum, Acks and Role. For a Shard it is
	// the least that the limits may leave; null = the limits alone decide. Where
	// members have a domain, domains are counted.
	MinAvailable *int32 `json:"minAvailable"`
	// NeedsLeader: one of its members must lead. Default: true for Shard, else false.
	NeedsLeader bool `json:"needsLeader"`
	// Moving: copies of this group are being moved.
	Moving  bool     `json:"moving"`
	Members []Member `json:"members"`
}

// GroupKind is what a group's members are to each other. Default: Shard.
type GroupKind string

// PrimaryGroup is the id of the Role whose leader, as the only member, takes the writes.
const PrimaryGroup = "primary"

// The kinds of groups.
const (
	GroupShard  GroupKind = "Shard"
	GroupQuorum GroupKind = "Quorum"
	GroupAcks   GroupKind = "Acks"
	GroupRole   GroupKind = "Role"
)

// Member is one copy, vote or holder.
type Member struct {
	ID string `json:"id"`
	// Pod is empty when the member is hosted elsewhere.
	Pod   string      `json:"pod"`
	State MemberState `json:"state"`
	// Domain in which it fails together with others of the group: however many of a
	// domain are missing, they count once; of a Role a domain is there while any of its
	// members is. Empty = it fails by itself.
	Domain string `json:"domain,omitempty"`
	Leader bool   `json:"leader"`
	// Eligible: may lead; of a Shard by its kind, whatever its state. Default: true.
	Eligible bool `json:"eligible"`
	// Progress of a recovery, 0 to 1; null = unknown.
	Progress *float64 `json:"progress,omitempty"`
}

// MemberState is the state of a member. Default: Active.
type MemberState string

// The states of a member.
const (
	MemberActive     MemberState = "Active"
	MemberRecovering MemberState = "Recovering"
	MemberMoving     MemberState = "Moving"
	MemberDown       MemberState = "Down"
	MemberUnknown    MemberState = "Unknown"
)
