package engines

// The zero value of every enum is unknown, and unknown never permits anything.

// Kind is the kind of a drain.
type Kind uint8

const (
	KindUnknown Kind = iota
	// Handoff keeps the member's data and gives away its duties.
	Handoff
	// Evacuate moves everything off the member, because its data will be lost.
	Evacuate
)

func (k Kind) String() string { return name(k, "Unknown", "Handoff", "Evacuate") }

// ProgressState is the state of an order.
type ProgressState uint8

const (
	ProgressUnknown ProgressState = iota
	ProgressRunning
	ProgressDone
	ProgressRefused
)

func (s ProgressState) String() string { return name(s, "Unknown", "Running", "Done", "Refused") }

// Membership says whether a node is a member of the database.
type Membership uint8

const (
	MembershipUnknown Membership = iota
	MembershipLive
	MembershipNotLive
)

func (m Membership) String() string { return name(m, "Unknown", "Live", "NotLive") }

// GroupKind says who sets the minimum of a group.
type GroupKind uint8

const (
	GroupUnknown GroupKind = iota
	GroupShard
	GroupQuorum
	GroupAcks
	GroupRole
)

func (k GroupKind) String() string { return name(k, "Unknown", "Shard", "Quorum", "Acks", "Role") }

// MemberState is the state of one copy.
type MemberState uint8

const (
	MemberUnknown MemberState = iota
	MemberActive
	MemberRecovering
	MemberMoving
	MemberDown
)

func (s MemberState) String() string {
	return name(s, "Unknown", "Active", "Recovering", "Moving", "Down")
}

// Verdict is the health of a whole database.
type Verdict uint8

const (
	VerdictUnknown Verdict = iota
	VerdictGreen
	// VerdictRecoverable means that copies are missing only until a node returns or a person acts,
	// no copy is being built, and no restart elsewhere makes it worse.
	VerdictRecoverable
	VerdictYellow
	VerdictRed
)

func (v Verdict) String() string {
	return name(v, "Unknown", "Green", "Recoverable", "Yellow", "Red")
}

// Primary says what a primary does before it stops.
type Primary uint8

const (
	// PrimaryUnknown leaves it to the topology, as the primary's own agent sees it.
	PrimaryUnknown Primary = iota
	// Switchover hands the role to another member.
	Switchover
	// RestartInPlace keeps the role: nobody takes writes until the primary is back.
	RestartInPlace
)

func (p Primary) String() string { return name(p, "Unknown", "Switchover", "RestartInPlace") }

// Writes says what a drain may do to the writes of clients before an order without KeepWrites.
type Writes uint8

const (
	// WritesUnknown means that they may stop at any time.
	WritesUnknown Writes = iota
	// WritesKept means that they go on, whatever the drain waits for.
	WritesKept
	// WritesReady means that they go on, and that the drain waits for nothing else.
	WritesReady
)

func (w Writes) String() string { return name(w, "Unknown", "Kept", "Ready") }

// Topology says how the members of a database share the role of primary.
type Topology uint8

const (
	TopologyUnknown Topology = iota
	// Switchable means that one primary takes writes, and hands its role to a replica.
	Switchable
	// FixedPrimary means that one primary takes writes, and no other member ever does. It restarts
	// in place.
	FixedPrimary
	// Galera means that every member of a Galera cluster takes writes.
	Galera
	// GroupReplication means that the members elect the primary themselves.
	GroupReplication
	// SingleServer means that there is one member.
	SingleServer
)

func (t Topology) String() string {
	return name(t, "Unknown", "Switchable", "FixedPrimary", "Galera", "GroupReplication", "SingleServer")
}

func name[E ~uint8](e E, names ...string) string {
	if int(e) < len(names) {
		return names[e]
	}
	return names[0]
}
