package model

// Report is what a pod's agent says, or what the others say of a pod without one.
type Report struct {
	UID string `json:"uid"`
	// Self is false when other agents speak for a pod that has none. Default: true.
	Self       bool    `json:"self"`
	AgeSeconds float64 `json:"ageSeconds"`
	// Fresh: made after the barrier of the last action, within the age limit. Default: true.
	Fresh         bool   `json:"fresh"`
	EngineVersion string `json:"engineVersion"`
	// Member is whether the pod is in the database's own membership. Default: Live.
	Member Membership `json:"member"`
	// NotLiveSeconds is for how long it has been NotLive without a break. Left out or 0:
	// it is not known for how long, so it may be back in a moment.
	NotLiveSeconds float64  `json:"notLiveSeconds,omitempty"`
	Roles          []string `json:"roles"`
	// Last: holds a role that must go last and cannot be handed over. Default: false.
	Last bool `json:"last"`
	// Rank orders kinds of node; all of a lower rank go first.
	Rank int `json:"rank"`
	// Settled: serving and caught up. Default: true.
	Settled bool `json:"settled"`
	// SettledSince is where soaking is measured from, else the phase.
	SettledSince *Time `json:"settledSince"`
	// Busy is a backup, clone, ...: do not disturb.
	Busy  string     `json:"busy"`
	Drain DrainState `json:"drain"`
	// DrainDetail is what the agent waits for meanwhile, or why it refused.
	DrainDetail string `json:"drainDetail"`
	// After names the pods that must carry the new version before this one.
	After []string `json:"after"`
	// Veto is why this pod must not go, in the engine's words.
	Veto string `json:"veto"`
	// ClockSkewSeconds is by how much its node's clock is ahead of the coordinator's, or
	// behind, when that is worth telling. Nothing is decided by it. Default: 0.
	ClockSkewSeconds int `json:"clockSkewSeconds,omitempty"`
}

// The roles of the members of a database with a PrimaryGroup, as their agents report them.
const (
	RolePrimary = "primary"
	RoleReplica = "replica"
)

// Membership is whether a pod is in the database's own membership.
type Membership string

// The memberships.
const (
	MembershipLive    Membership = "Live"
	MembershipNotLive Membership = "NotLive"
	MembershipUnknown Membership = "Unknown"
)

// DrainState is how far a drain has come. Default: None.
type DrainState string

// The drain states.
const (
	DrainNone    DrainState = "None"
	DrainRunning DrainState = "Draining"
	DrainDone    DrainState = "Drained"
	DrainRefused DrainState = "Refused"
)
