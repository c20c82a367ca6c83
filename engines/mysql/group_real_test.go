package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/stretchr/testify/require"
)

// TestRealGroupHandover checks that the group moves its primary while a client writes, and its
// members keep all that was acknowledged.
func TestRealGroupHandover(t *testing.T) {
	if !*allBreaks {
		t.Skip("only with -breaks.all: make test-mysql-all")
	}
	servers := mysqltest.StartGroup(t, 3)
	w := newRealWorldOf(t, servers)
	primary := 0
	for i, then := range []realPhase{repairs, restores} {
		w.client.more(w)
		r := roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
		w.order(r, fmt.Sprintf("claim-%d", i), then, nil, servers[r.to].Address())
		w.carriedOut(r.from)
		require.Equal(t, []int{r.to}, w.writers())
		primary = r.to
		w.client.more(w)
		w.client.check(w, primary)
		w.good("handed over")
		t.Logf("%d writes acknowledged; longest without one: %s", w.client.total(), w.client.longest().Round(time.Millisecond))
	}
}

// TestRealGroupMajority checks that neither a secondary nor the primary goes while the third member,
// which has just been killed, is still listed as ONLINE.
func TestRealGroupMajority(t *testing.T) {
	if !*allBreaks {
		t.Skip("only with -breaks.all: make test-mysql-all")
	}
	m := membersAt(t, mysqltest.StartGroup(t, 3))
	m.servers[2].Kill()
	order := engines.Order{Kind: engines.Handoff, Claim: "c", NotAfter: time.Now().Add(time.Minute)}
	for i := range 2 {
		undo, err := m.engines[i].PlanDrain(t.Context(), order)
		require.NoError(t, err)
		p, err := m.engines[i].Drain(t.Context(), order, undo)
		require.NoError(t, err)
		require.Contains(t, p.Detail, "1 of 3 members of the group would be left, and no majority")
	}
	require.Equal(t, "0", m.servers[0].Value("SELECT @@read_only"), "nobody else was elected")
}
