package engines

// Observation is what an adapter read from its local database, once.
type Observation struct {
	// Node is the member's own name as the database registered it, or will. Empty means not known
	// yet.
	Node string
	// Version of the running database, empty when unknown.
	Version string
	// Member is the local member's place in the database's own membership.
	Member Membership
	// Roles in the database's words, e.g. "overseer".
	Roles []string
	// Rank orders kinds of node: all of a lower rank are restarted first.
	Rank int
	// Last means that holds a role that must go last and cannot be handed over.
	Last bool
	// Health is the verdict on the whole database.
	Health Health
	// Groups are all redundancy groups the database told of, also those in which
	// the local member has no copy (see Group.Has).
	Groups []Group
	// Nodes is the membership as this member sees it, itself included: a name that is
	// not in it is no member.
	Nodes []Node
	// Settled means that serving and caught up.
	Settled bool
	// Busy and Veto, in the database's words; empty = no.
	Busy, Veto string
	// After names nodes that must carry the new version before this one.
	After []string
	// Excluded means that somebody, Rollcall or not, has told the database to keep data off the
	// member, in a way that is over with the pod: its successor would get data.
	Excluded bool
	// DataBytes is how much the member holds; 0 = unknown.
	DataBytes int64
}

// Node is another member as the local one sees it.
type Node struct {
	Name string
	// Address is host or host:port by which the others reach it.
	Address string
	State   Membership
}

// Group is a set of copies of which only so many may be missing at once.
type Group struct {
	// ID is unique in the database, e.g. "books/shard1".
	ID   string
	Kind GroupKind
	// MinAvailable members must stay available; of a Shard, for which policy decides,
	// the least that it may decide on. Where members have a domain, domains count.
	MinAvailable int
	// NeedsLeader means that the group is useless without a leader.
	NeedsLeader bool
	// Moving means that copies of this group are being moved right now.
	Moving  bool
	Members []Member
}

// Member is one copy.
type Member struct {
	// ID is unique within the group.
	ID string
	// Node hosts it, in the form of Observation.Node.
	Node  string
	State MemberState
	// Domain in which it fails together with others of the group: as many of them as may be missing
	// at once cost as much as one. Empty means it fails by itself.
	Domain string
	// Leader of the group, and Eligible to become it.
	Leader, Eligible bool
	// Progress of a recovery, 0..1; 0 when unknown.
	Progress float64
}

// Has reports whether the node hosts a member of the group.
func (g Group) Has(node string) bool {
	for _, m := range g.Members {
		if m.Node == node {
			return true
		}
	}
	return false
}

// Health is a verdict with its reason in words.
type Health struct {
	Verdict Verdict
	Reason  string
}
