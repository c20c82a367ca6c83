package mysql

import "strings"

// group that the server belongs to; nil: to none.
func (a answers) group(d *dialect, own State) *GroupState {
	if d.flavor == MariaDB {
		return a.galera(own)
	}
	if a.switches.text("group_replication_group_name") == "" {
		return nil
	}
	g := &GroupState{}
	g.Primary, _ = a.switches.on("group_replication_single_primary_mode")
	reachable, inside := 0, false
	for _, r := range a.members {
		port, _ := r.number("port")
		m := GroupMember{
			ID: r.words("id"), Host: r.words("host"), Port: int(min(port, 1<<16)),
			State: r.words("state"), Role: r.words("role"), Version: r.words("version"),
		}
		if m.ID == "" && m.State == memberOffline { // itself, before it was ever in the group
			m.ID = own.ID
			m.Host, m.Port = split(own.Node)
		}
		if m.ID == "" {
			continue
		}
		g.Members = append(g.Members, m)
		if m.State == memberOnline || m.State == memberRecovering {
			reachable++
			inside = inside || m.ID == own.ID
		}
	}
	g.Size = len(g.Members)
	g.Quorum = inside && 2*reachable > g.Size
	return g
}

// galera tells of itself and how many there are; the others tell of themselves.
func (a answers) galera(own State) *GroupState {
	if on, _ := a.switches.on("wsrep_on"); !on {
		return nil
	}
	c := a.counters
	size, _ := c.number("wsrep_cluster_size")
	ready, _ := c.on("wsrep_ready")
	m := GroupMember{ID: own.ID, Host: own.Node, Role: rolePrimary, Version: own.Version, State: memberRecovering}
	switch state := c.text("wsrep_local_state_comment"); {
	case state == "Synced" && ready:
		m.State = memberOnline
	case strings.HasPrefix(state, "Join"):
	case !ready, strings.HasPrefix(state, "Disconnected"), state == "Initialized":
		m.State = memberOffline
	}
	return &GroupState{
		Galera: true, Size: int(min(size, 1<<16)), Members: []GroupMember{m},
		Quorum: c.text("wsrep_cluster_status") == "Primary" && size > 0,
	}
}
