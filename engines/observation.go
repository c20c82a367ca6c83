package engines

// Observation is what an adapter has read from its local database in one look.
type Observation struct {
	// Node is the name under which the database has registered the member, or will register it.
	// Empty means that it is not known yet.
	Node string
	// Version is the version of the running database; empty means unknown.
	Version string
	// Member says whether the local member is in the database's own membership.
	Member Membership
	// Roles are the member's roles in the database's words, e.g. "overseer".
	Roles []string
	// Rank orders the kinds of nodes: all nodes of a lower rank are restarted first.
	Rank int
	// Topology says how the members share the role of primary, as this one sees it.
	Topology Topology
	// Last means that the member holds a role that must go last and cannot be handed over.
	Last bool
	// Health is the verdict on the whole database.
	Health Health
	// Groups are all groups that the database reported, including those in which the local member
	// has no copy (see Group.Has).
	Groups []Group
	// Nodes is the membership as this member sees it, including itself. A name that is not in it is
	// not a member.
	Nodes []Node
	// Settled means that the member serves and has caught up.
	Settled bool
	// Busy and Veto say, in the database's words, why the pod should not go; empty means no.
	Busy, Veto string
	// After names nodes that must carry the new version before this one.
	After []string
	// Excluded means that the database has been told, by Rollcall or not, to keep data off the
	// member in a way that ends with the pod. The recreated pod would get data.
	Excluded bool
	// DataBytes is how much data the member holds; 0 means unknown.
	DataBytes int64
}

// Node is another member as the local one sees it.
type Node struct {
	Name string
	// Address is host or host:port by which the others reach it.
	Address string
	State   Membership
}

// Group is a set of copies of which only a limited number may be missing at once.
type Group struct {
	// ID is unique in the database, e.g. "books/shard1".
	ID   string
	Kind GroupKind
	// MinAvailable is the number of members that must stay available. The policy decides that for a
	// shard, for which this is the least that it may use. If members have domains, domains are
	// counted.
	MinAvailable int
	// NeedsLeader means that the group does not work without a leader.
	NeedsLeader bool
	// Moving means that copies of this group are being moved now.
	Moving  bool
	Members []Member
}

// Member is one copy.
type Member struct {
	// ID is unique within the group.
	ID string
	// Node is the node that hosts the copy, in the form of Observation.Node.
	Node  string
	State MemberState
	// Domain is the failure domain. Copies of one domain that are missing together cost as much as
	// one. Empty means that the copy fails by itself.
	Domain string
	// Leader means that the copy leads the group, Eligible that it may become the leader.
	Leader, Eligible bool
	// Progress is the progress of a recovery, 0..1; 0 when unknown.
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
