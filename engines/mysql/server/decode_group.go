package server

import (
	"strings"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// group that the server belongs to; nil means to none.
func (a answers) group(d *dialect, own replication.State) *replication.GroupState {
	if d.flavor == replication.MariaDB {
		return a.galera(own)
	}
	if a.switches.Text("group_replication_group_name") == "" {
		return nil
	}
	g := &replication.GroupState{}
	g.Primary, _ = a.switches.On("group_replication_single_primary_mode")
	reachable, inside := 0, false
	for _, r := range a.members {
		port, _ := r.Number("port")
		m := replication.GroupMember{
			ID: r.Words("id"), Host: r.Words("host"), Port: int(min(port, 1<<16)),
			State: r.Words("state"), Role: r.Words("role"), Version: r.Words("version"),
		}
		if m.ID == "" && m.State == replication.MemberOffline { // itself, before it was ever in the group
			m.ID = own.ID
			m.Host, m.Port = replication.SplitName(own.Node)
		}
		if m.ID == "" {
			continue
		}
		g.Members = append(g.Members, m)
		if m.State == replication.MemberOnline || m.State == replication.MemberRecovering {
			reachable++
			inside = inside || m.ID == own.ID
		}
	}
	g.Size = len(g.Members)
	g.Quorum = inside && 2*reachable > g.Size
	return g
}

// galera tells of itself and how many there are; the others tell of themselves.
func (a answers) galera(own replication.State) *replication.GroupState {
	if on, _ := a.switches.On("wsrep_on"); !on {
		return nil
	}
	c := a.counters
	size, _ := c.Number("wsrep_cluster_size")
	ready, _ := c.On("wsrep_ready")
	m := replication.GroupMember{ID: own.ID, Host: own.Node, Role: replication.RolePrimary, Version: own.Version, State: replication.MemberRecovering}
	switch state := c.Text("wsrep_local_state_comment"); {
	case state == "Synced" && ready:
		m.State = replication.MemberOnline
	case strings.HasPrefix(state, "Join"):
	case !ready, strings.HasPrefix(state, "Disconnected"), state == "Initialized":
		m.State = replication.MemberOffline
	}
	return &replication.GroupState{
		Galera: true, Size: int(min(size, 1<<16)), Members: []replication.GroupMember{m},
		Quorum: c.Text("wsrep_cluster_status") == "Primary" && size > 0,
	}
}
