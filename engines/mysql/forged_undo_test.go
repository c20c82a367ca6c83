package mysql

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Undo bytes come from the status of a DatabaseCluster, which more people may write than
// may name hosts: who follows whom, and so who is shown the password of replication, is
// nothing that they say.
func TestUndoBytesNameNoHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: MySQL, members: 3}, false)
		e := w.agents[1].engine
		_, err := e.Restore(t.Context(), []byte(`{"v":1,"kind":"Handoff","claim":"forged","node":"late-0","wrote":false,"domain":".evil.example"}`))
		require.NoError(t, err, "it is even said to be done")
		v, err := e.gather(t.Context(), task{}, true)
		require.NoError(t, err)
		host, _, err := v.addressOf(member{state: State{Node: "late-1", PodDomain: ".db.ns.svc"}, known: true})
		require.NoError(t, err)
		require.Equal(t, "late-1.db.ns.svc", host)
	})
}
