package probe

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// large is what a member of a database with 1,000 replicas on 50 nodes sees.
func large() engines.Observation {
	o := engines.Observation{Node: "node-0", Member: engines.MembershipLive, Settled: true, Health: engines.Health{Verdict: engines.VerdictGreen}}
	for i := range 50 {
		o.Nodes = append(o.Nodes, engines.Node{Name: fmt.Sprintf("node-%d", i), Address: fmt.Sprintf("node-%d:8983", i), State: engines.MembershipLive})
	}
	for s := range 250 {
		g := engines.Group{ID: fmt.Sprintf("books%d/shard%d", s/10, s%10), Kind: engines.GroupShard, NeedsLeader: true}
		for r := range 4 {
			g.Members = append(g.Members, engines.Member{
				ID: fmt.Sprintf("core_node%d", 4*s+r), Node: fmt.Sprintf("node-%d", (4*s+r)%50), State: engines.MemberActive, Leader: r == 0, Eligible: true,
			})
		}
		o.Groups = append(o.Groups, g)
	}
	return o
}

// BenchmarkSighting is the agent's own share of one look a second.
func BenchmarkSighting(b *testing.B) {
	board := NewBoard(identity, slog.New(slog.DiscardHandler))
	o := large()
	s := Result{}
	for b.Loop() {
		s = s.Follow(time.Now(), o, nil)
		board.SetResult(s)
	}
}
