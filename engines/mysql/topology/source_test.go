package topology

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
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
		m := Member{State: replication.State{Node: c.node, ID: "1"}}
		require.Equal(t, c.want, isSource(&replication.Source{Host: c.source, Port: 3306, ID: "1"}, m), c)
		if c.want && c.source != c.node {
			require.False(t, isSource(&replication.Source{Host: c.source, Port: 3306, ID: "2", Receiving: true}, m), c)
			require.True(t, isSource(&replication.Source{Host: c.source, Port: 3306, ID: "2"}, m), "it may have been made again")
		}
	}
}

// TestServerIDsOfOthers checks that a server_id of MariaDB is a number that another database may
// have, too. It counts where the name fits, or where the member knows the replica.
func TestServerIDsOfOthers(t *testing.T) {
	source := Member{State: replication.State{Node: "db-0", ID: "1", Flavor: replication.MariaDB}}
	replica := Member{State: replication.State{Node: "db-1", ID: "2", Flavor: replication.MariaDB, Source: &replication.Source{Host: "db-primary", Port: 3306, ID: "1", Receiving: true}}}
	require.False(t, Sends(source, replica), "of whatever database")
	source.State.Replicas = []replication.Replica{{ID: "2"}}
	require.True(t, Sends(source, replica))
	source.State.Replicas = nil
	replica.State.Source.Host = "db-0.db.ns"
	require.True(t, Sends(source, replica))
	replica.State.Source.ID = "7"
	require.False(t, Sends(source, replica), "it has reached another one")
	replica.State.Source.Receiving = false
	require.True(t, Sends(source, replica), "it has been told to go there")
	replica.State.Source.Host, replica.State.Source.Receiving, replica.State.Source.ID = "db-primary", true, "1"
	source.State.Flavor, replica.State.Flavor = replication.MySQL, replication.MySQL
	require.True(t, Sends(source, replica), "nobody else has it")
}
