package mysql

import (
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// copied: the local member's data may be lost once another one has all of it.
func (v input) copied(words string) engines.Progress {
	// Where nothing has a GTID, GTIDs do not show that another one has the data.
	if v.self.blank() && len(v.others) > 0 {
		return engines.Progress{State: engines.Running, Detail: v.self.name() + " has executed nothing that has a GTID: who else has its data is known after a first write"}
	}
	if slices.ContainsFunc(v.others, func(m member) bool { return m.serves() && m.hasAllOf(v.self) }) {
		return engines.Progress{State: engines.Done, Detail: words}
	}
	if len(v.others) == 0 {
		return engines.Progress{State: engines.Refused, Detail: "nobody else has the data of " + v.self.name()}
	}
	return engines.Progress{State: engines.Running, Detail: "no other member is known to have all data of " + v.self.name()}
}

// mayLead says why a member that does not tell may be the primary; empty: another one
// is known to be, or what all of them receive comes from another one.
func (v input) mayLead(node string) string {
	silent := member{peer: engines.Peer{Node: node}}
	if v.self.serves() && v.self.state.Group != nil {
		return "" // the group elects
	}
	for _, m := range v.all() {
		if m.name() == node && m.serves() {
			silent = m
		}
	}
	if silent.refuses() && silent.state.Source != nil {
		return ""
	}
	if slices.ContainsFunc(v.all(), func(m member) bool { return m.name() != node && m.allows() }) {
		return ""
	}
	fed := false
	for _, m := range v.all() {
		switch {
		case m.name() == node || !m.serves() || m.state.Source == nil:
		case sends(silent, m):
			return m.name() + " follows " + node + ", which has no agent"
		default:
			source, member := v.sourceOf(m)
			fed = fed || m.state.Source.Receiving && !(member && source.serves())
		}
	}
	if fed {
		return ""
	}
	return "nobody knows which member takes writes, and " + node + " has no agent"
}
