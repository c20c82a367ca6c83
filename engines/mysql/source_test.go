package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsSource(t *testing.T) {
	for _, c := range []struct {
		source, node string
		want         bool
	}{
		{"db-0.db", "db-0.db", true},
		{"db-0.db.ns.svc.cluster.local", "db-0.db", true},
		{"DB-0", "db-0.db", true},
		{"db-0.db.ns", "db-0.db.other", false},
		{"db-0.db2", "db-0.db", false},
		{"db-01", "db-0", false},
		{"10.0.0.12", "10.0.0.1", false},
		{"10.0.0.1.example", "10.0.0.1", false},
		{"db-0", "db-0:3307", false},
		{"", "db-0", false},
	} {
		m := member{state: State{Node: c.node, ID: "1"}}
		require.Equal(t, c.want, isSource(&Source{Host: c.source, Port: 3306, ID: "1"}, m), c)
		if c.want && c.source != c.node {
			require.False(t, isSource(&Source{Host: c.source, Port: 3306, ID: "2", Receiving: true}, m), c)
			require.True(t, isSource(&Source{Host: c.source, Port: 3306, ID: "2"}, m), "it may have been made anew")
		}
	}
}

// TestServerIDsOfOthers: a server_id of MariaDB is a number that another database may
// have, too. It counts where the name fits, or where the member knows the replica.
func TestServerIDsOfOthers(t *testing.T) {
	source := member{state: State{Node: "db-0", ID: "1", Flavor: MariaDB}}
	replica := member{state: State{Node: "db-1", ID: "2", Flavor: MariaDB, Source: &Source{Host: "db-primary", Port: 3306, ID: "1", Receiving: true}}}
	require.False(t, sends(source, replica), "of whatever database")
	source.state.Replicas = []Replica{{ID: "2"}}
	require.True(t, sends(source, replica))
	source.state.Replicas = nil
	replica.state.Source.Host = "db-0.db.ns"
	require.True(t, sends(source, replica))
	replica.state.Source.ID = "7"
	require.False(t, sends(source, replica), "it has reached another one")
	replica.state.Source.Receiving = false
	require.True(t, sends(source, replica), "it has been told to go there")
	replica.state.Source.Host, replica.state.Source.Receiving, replica.state.Source.ID = "db-primary", true, "1"
	source.state.Flavor, replica.state.Flavor = MySQL, MySQL
	require.True(t, sends(source, replica), "nobody else has it")
}
