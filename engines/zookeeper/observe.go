package zookeeper

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// Observe is pure: values in, facts out, and Unknown for the rest.
func Observe(v View) engines.Observation {
	a := assess(v)
	self := v.Self.State
	o := engines.Observation{Node: self.Node, Version: self.Version, Member: a.standing(self.Node, self)}
	if !self.Serving {
		o.Health = a.outage()
		return o
	}
	o.Roles = []string{self.Mode.String()}
	o.Last = self.Mode == Leading
	o.Settled = a.unsure == ""
	o.DataBytes = self.Bytes
	o.Groups, o.Nodes, o.Health = a.groups(), a.nodes(), a.verdict()
	o.Busy, o.Veto = a.busy(), a.veto()
	return o
}

// dataGroup is what a server without an ensemble has.
const dataGroup = "data"

// groups: for each configuration its voters, a majority of which must stay. While servers are
// added, those that have restarted go by another configuration than the others, and each must be
// satisfied. Observers are in no group.
func (a assessment) groups() (out []engines.Group) {
	if a.Self.State.Mode == Standalone {
		return []engines.Group{{ID: dataGroup, Kind: engines.GroupShard, Members: []engines.Member{{ID: standaloneNode, Node: standaloneNode, State: a.standalone()}}}}
	}
	for _, c := range a.configs {
		voters := c.voters()
		g := engines.Group{ID: groupID(voters), Kind: engines.GroupQuorum, MinAvailable: len(voters)/2 + 1, NeedsLeader: true}
		for _, node := range voters {
			x, _ := a.find(node)
			state := a.state(x)
			g.Members = append(g.Members, engines.Member{ID: node, Node: node, State: state, Leader: node == a.leader, Eligible: state == engines.MemberActive})
		}
		out = append(out, g)
	}
	return out
}

func (a assessment) standalone() engines.MemberState {
	if a.unsure != "" {
		return engines.MemberUnknown
	}
	return engines.MemberActive
}

// groupID names the voters by their numbers.
func groupID(voters []string) string {
	var ids []string
	for _, node := range voters {
		ids = append(ids, strings.TrimPrefix(node, "server."))
	}
	return "voters " + strings.Join(ids, ",")
}

// nodes are all members, including the local one.
func (a assessment) nodes() (out []engines.Node) {
	for _, x := range a.members {
		out = append(out, engines.Node{Name: x.node, Address: cmp.Or(x.host, x.Peer.Pod, x.node), State: a.membership(x)})
	}
	return out
}

// busy says what the local member does for others.
func (a assessment) busy() string {
	if to := a.receiver(); to != "" && a.Self.State.Mode == Leading && a.unsure == "" {
		return fmt.Sprintf("it may be sending its data to %s, which does not serve yet", to)
	}
	return ""
}

// veto is what keeps the local member from being judged at all.
func (a assessment) veto() string {
	if a.weighted {
		return "hierarchical quorums are not supported: what is a quorum is not known"
	}
	return ""
}
