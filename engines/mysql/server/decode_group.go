package server

import "github.com/rollcall-dev/rollcall/engines/mysql/replication"

// group that the server belongs to; nil means to none.
func (a answers) group(own replication.State) *replication.GroupState {
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
	g.Quorum = inside && 2*reachable > len(g.Members)
	return g
}

// ofGalera explains why a member of Galera is not told on; empty means that it is none. A server whose
// provider is not loaded is none.
func (a answers) ofGalera(flavor replication.Flavor) string {
	on, _ := a.switches.On("wsrep_on")
	switch provider := a.switches.Text("wsrep_provider"); {
	case !on, provider == "none":
		return ""
	case flavor == replication.MariaDB:
		return "the server is a member of a Galera Cluster: set spec.engine to Galera"
	}
	return "the server is a member of Percona XtraDB Cluster or of MySQL with Galera, which are not supported"
}
