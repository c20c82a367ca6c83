// Package grants lists what the agents' account needs on servers of MySQL and MariaDB, by topology. It
// is what the documents and the tools tell people, and what the tests of the adapters try.
package grants

import (
	"fmt"
	"strings"
)

// Account is the agents' account as documents and tools write it.
const Account = "rollcall@'127.0.0.1'"

// Grant is privileges on one object.
type Grant struct {
	Privileges []string
	On         string
}

func (g Grant) String() string { return strings.Join(g.Privileges, ", ") + " ON " + g.On }

// words are the privileges in the words of one kind of server.
type words struct {
	see      []Grant
	repair   []string
	switches []string
	elect    []string
}

func global(privileges ...string) Grant { return Grant{privileges, "*.*"} }

var byEngine = map[string]words{
	"MySQL": {
		see:      []Grant{global("REPLICATION CLIENT", "REPLICATION SLAVE", "PROCESS"), {[]string{"SELECT"}, "performance_schema.*"}},
		repair:   []string{"SYSTEM_VARIABLES_ADMIN", "REPLICATION_SLAVE_ADMIN"},
		switches: []string{"CONNECTION_ADMIN", "RELOAD"},
		elect:    []string{"GROUP_REPLICATION_ADMIN"},
	},
	"MariaDB": {
		see:      []Grant{global("SLAVE MONITOR", "BINLOG MONITOR", "REPLICATION MASTER ADMIN", "PROCESS")},
		repair:   []string{"READ_ONLY ADMIN", "REPLICATION SLAVE ADMIN"},
		switches: []string{"CONNECTION ADMIN", "RELOAD"},
	},
	"Galera": {see: []Grant{global("PROCESS"), {[]string{"SELECT"}, "mysql.wsrep_cluster_members"}}},
}

// For returns what the account needs for all that agents do in a topology, as engines.Topology calls
// it; nil for another engine. A topology that is not known may be Switchable.
func For(engine, topology string) []Grant {
	w, known := byEngine[engine]
	if !known {
		return nil
	}
	var more []string
	switch topology {
	case "FixedPrimary", "SingleServer", "Galera":
	case "GroupReplication":
		more = w.elect
	default:
		more = append(append(more, w.repair...), w.switches...)
	}
	out := append([]Grant(nil), w.see...)
	out[0].Privileges = append(append([]string(nil), out[0].Privileges...), more...)
	return out
}

// Repairs are what agents need besides, beside a fixed primary, to open one that starts read-only and to
// start replication that does not start with its server.
func Repairs(engine string) []string { return byEngine[engine].repair }

// Statements are the grants as SQL.
func Statements(engine, topology string) string {
	var out []string
	for _, g := range For(engine, topology) {
		out = append(out, fmt.Sprintf("GRANT %s TO %s;", g, Account))
	}
	return strings.Join(out, " ")
}
