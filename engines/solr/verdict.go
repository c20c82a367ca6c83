package solr

import (
	"github.com/rollcall-dev/rollcall/engines"
)

// verdict returns the verdict on the whole database, computed from replica states and live nodes.
// Solr's own "health" is not used: it is computed before the replicas of dead nodes are counted as
// down.
//
//   - Red: a shard that counts has no active copy.
//   - Unknown: a copy or a shard is in a state that this adapter does not know.
//   - Yellow: a shard has no leader.
//   - Recoverable: copies are missing because their nodes are, or are recovering, or
//     are down on a live node, where nobody mends them: a restart of that node may, and
//     one of another node makes them no worse. In their own shard they are missing as
//     any other, so that its other copies stay.
//   - Green: every copy is active and every shard has a leader.
//
// The worst line that applies is the verdict; its reason names one example and how many there are.
func verdict(groups []engines.Group, live func(node string) bool) engines.Health {
	var red, unknown, leaderless, down, away engines.Tally[string]
	for _, g := range groups {
		active, leader := 0, false
		for _, m := range g.Members {
			leader = leader || m.Leader
			switch {
			case m.State == engines.MemberActive:
				active++
			case m.State == engines.MemberUnknown:
				unknown.Add(g.ID + "/" + m.ID)
			case m.State == engines.MemberDown && live(m.Node):
				down.Add(g.ID + "/" + m.ID)
			default:
				away.Add(g.ID + "/" + m.ID)
			}
		}
		if !g.NeedsLeader {
			continue
		}
		switch {
		case active == 0:
			red.Add(g.ID)
		case !leader:
			leaderless.Add(g.ID)
		}
	}
	switch {
	case red.N > 0:
		return engines.Health{Verdict: engines.VerdictRed, Reason: red.Text("no active copy of")}
	case unknown.N > 0:
		return engines.Health{Verdict: engines.VerdictUnknown, Reason: unknown.Text("unknown state of")}
	case leaderless.N > 0:
		return engines.Health{Verdict: engines.VerdictYellow, Reason: leaderless.Text("no leader of")}
	case down.N > 0:
		return engines.Health{Verdict: engines.VerdictRecoverable, Reason: down.Text("down on a live node, which a restart may mend if it lasts:")}
	case away.N > 0:
		return engines.Health{Verdict: engines.VerdictRecoverable, Reason: away.Text("missing or recovering:")}
	}
	return engines.Health{Verdict: engines.VerdictGreen}
}
