package wire

import (
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// What an honest agent sends at most, and so what is taken.
const (
	// An agent keeps 2,048 headlines (agent/gossip), of at most 512 bytes each: they travel in
	// what memberlist carries beside its own.
	maxEntries  = 2048
	maxHeadline = 512
	// MaxRoster is those, each with what the gossip says of it, and the speaker.
	MaxRoster = maxEntries*(maxHeadline+32) + 8<<10

	// A report names the members of its database, which are at most as many pods as an order may name.
	maxNodes = 4096
	// The largest database that is measured has 10,000 shards, of which an agent tells all when it is
	// asked to, each with its copies. Three times as many are taken.
	maxGroups  = 32 << 10
	maxMembers = 128 << 10
	// MaxReport has room for 10,000 shards of three copies with names of 64 bytes each, which are 5 MB.
	MaxReport = 8 << 20
	// maxRoles are those of one member.
	maxRoles = 256
	// MaxRefusals are those that an agent tells of, each with words and an address (agent/door).
	MaxRefusals = 32
	maxRefusal  = 1 << 10

	// MaxAnswer is for answers to orders: undo notes of 4 KiB and words for people.
	MaxAnswer = 64 << 10
)

// inflation is how many bytes of memory a byte on the wire may become; messages of up to slack
// bytes of memory are not looked at for it. The shortest honest member of a group, with
// names of two letters, becomes 16 times as long; an empty one 100 times.
const (
	inflation = 32
	slack     = 64 << 10
)

// bounds are those of a message that comes as a whole: its bytes, and of which field
// there may be how many, wherever in it.
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
