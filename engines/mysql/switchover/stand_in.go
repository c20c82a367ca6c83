package switchover

import (
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// Copied returns Done once another member has all data of the local member, which may then be lost.
func (v Input) Copied(words string) engines.Progress {
	// Where nothing has a GTID, GTIDs do not show that another one has the data.
	if v.Self.Blank() && len(v.Others) > 0 {
		return engines.Progress{State: engines.ProgressRunning, Detail: v.Self.Name() + " has executed nothing that has a GTID: who else has its data is known after a first write"}
	}
	if v.Self.State.Unlogged != "" {
		return engines.Progress{State: engines.ProgressRunning, Detail: engines.OneLine(v.Self.Name() + ": " + v.Self.State.Unlogged)}
	}
	if slices.ContainsFunc(v.Others, func(m topology.Member) bool { return m.Serves() && m.HasAllOf(v.Self) }) {
		return engines.Progress{State: engines.ProgressDone, Detail: words}
	}
	if len(v.Others) == 0 {
		return engines.Progress{State: engines.ProgressRefused, Detail: "nobody else has the data of " + v.Self.Name()}
	}
	return engines.Progress{State: engines.ProgressRunning, Detail: "no other member is known to have all data of " + v.Self.Name()}
}

// MayLead explains why a member that does not report may be the primary. Empty means that another
// member is known to be the primary, or that everything comes from a server outside.
func (v Input) MayLead(node string) string {
	silent := topology.Member{Peer: engines.Peer{Node: node}}
	if v.Self.Serves() && v.Self.State.Group != nil {
		return "" // the group elects
	}
	for _, m := range v.All() {
		if m.Name() == node && m.Serves() {
			silent = m
		}
	}
	if silent.Refuses() && silent.State.Source != nil {
		return ""
	}
	if slices.ContainsFunc(v.All(), func(m topology.Member) bool { return m.Name() != node && m.Allows() && m.State.Source == nil }) {
		return ""
	}
	fed := false
	for _, m := range v.All() {
		switch {
		case m.Name() == node || !m.Serves() || m.State.Source == nil:
		case topology.Sends(silent, m):
			return m.Name() + " follows " + node + ", which has no agent"
		default:
			source, member := v.SourceOf(m)
			fed = fed || m.State.Source.Receiving && !(member && source.Serves())
		}
	}
	if fed {
		return ""
	}
	return "nobody knows which member takes writes, and " + node + " has no agent"
}
