package wire

import (
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// The most that an honest agent sends, and so what is accepted.
const (
	// An agent keeps 2,048 headlines (agent/gossip), of at most 512 bytes each: memberlist carries
	// them in addition to its own data.
	maxEntries  = 2048
	maxHeadline = 512
	// MaxRoster has room for those, each with what the gossip says about it, and the sender.
	MaxRoster = maxEntries*(maxHeadline+32) + 8<<10

	// A report names the members of its database, which are at most as many pods as an order may name.
	maxNodes = 4096
	// The largest database that is measured has 10,000 shards, which an agent reports completely
	// when asked to, each with its copies. Three times as many are accepted.
	maxGroups  = 32 << 10
	maxMembers = 128 << 10
	// MaxReport has room for 10,000 shards of three copies with names of 64 bytes each, which are 5 MB.
	MaxReport = 8 << 20
	// maxRoles is the maximum for one member.
	maxRoles = 256
	// MaxRefusals is how many an agent reports, each with a text and an address (agent/door).
	MaxRefusals = 32
	maxRefusal  = 1 << 10

	// MaxAnswer bounds answers to orders: undo notes of 4 KiB and texts for people.
	MaxAnswer = 64 << 10
)

// inflation is how many bytes of memory a byte on the wire may become; messages of up to slack
// bytes of memory are exempt. The shortest honest member of a group, with names of two letters,
// becomes 16 times as long; an empty one 100 times.
const (
	inflation = 32
	slack     = 64 << 10
)

// bounds are those of a whole message: its bytes, and how many items each field may have in total.
type bounds struct {
	bytes  int
	counts map[string]int
	// lengths of fields in bytes.
	lengths map[string]int
}

func boundsOf(message any) bounds {
	switch message.(type) {
	case *rollcallv1.Roster:
		return bounds{MaxRoster,
			map[string]int{"rollcall.v1.Roster.entries": maxEntries, "rollcall.v1.Headline.roles": maxEntries * maxRoles},
			map[string]int{"rollcall.v1.RosterEntry.headline": maxHeadline}}
	case *rollcallv1.Report:
		return bounds{MaxReport, map[string]int{
			"rollcall.v1.Report.groups": maxGroups, "rollcall.v1.Group.members": maxMembers,
			"rollcall.v1.Report.nodes": maxNodes, "rollcall.v1.Report.after": maxNodes, "rollcall.v1.Report.roles": maxRoles, "rollcall.v1.Report.refusals": MaxRefusals,
		}, map[string]int{"rollcall.v1.Report.refusals": maxRefusal}}
	}
	return bounds{bytes: MaxAnswer}
}
