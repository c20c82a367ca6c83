package witness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
)

var began = time.Now()

func ms(n int) time.Time { return began.Add(time.Duration(n) * time.Millisecond) }

func TestPrimariesOneAfterTheOther(t *testing.T) {
	p := judge([]turn{
		{"uid-1", "db-1", span{ms(700), ms(2000)}},
		{"uid-0", "db-0", span{ms(0), ms(100)}},
		{"uid-0", "db-0", span{ms(150), ms(500)}},
	})
	require.Equal(t, 1, p.Switchovers())
	require.Equal(t, []string{"db-0", "db-1"}, p.Turns)
	require.Equal(t, 1, p.Reopened)
	require.Equal(t, 200*time.Millisecond, p.None)
	require.Equal(t, 250*time.Millisecond, p.Nones)
	require.Empty(t, p.Two)
}

func TestTwoPrimariesAtOnce(t *testing.T) {
	p := judge([]turn{{"uid-0", "db-0", span{ms(0), ms(1000)}}, {"uid-1", "db-1", span{ms(900), ms(2000)}}})
	require.Len(t, p.Two, 1)
	require.Contains(t, p.Two[0], "db-0 and db-1, for 100 ms")

	p = judge([]turn{{"uid-0", "db-0", span{ms(0), ms(1000)}}, {"uid-1", "db-1", span{ms(300), ms(400)}}, {"uid-2", "db-2", span{ms(600), ms(600)}}})
	require.Len(t, p.Two, 2, "one that is open all the time, and two that are for a moment")
}

// What a slow look says is not made more of than it is: it was open some time in it.
func TestSpansAreSure(t *testing.T) {
	x := &spans{}
	x.note(ms(0), ms(50), true)
	x.note(ms(75), ms(300), true)
	x.note(ms(325), ms(350), false)
	x.note(ms(375), ms(400), true)
	require.Equal(t, []span{{ms(50), ms(75)}, {ms(400), ms(400)}}, x.all)
}

func TestStateOfServers(t *testing.T) {
	p := NewPrimary(PrimaryOptions{})
	note := func(pod string, writable bool, f sqlpod.Follows) {
		s := sqlpod.Server{Pod: pod, UID: pod}
		p.note(pod, s, ms(0), ms(1), writable, nil)
		p.follows(s, f)
	}
	note("db-0", false, sqlpod.Follows{Source: "db-1.db", Receiving: true, Applying: true})
	note("db-1", true, sqlpod.Follows{})
	require.Equal(t, "rows/0 misses a server is not there", p.State(3).Missing())
	note("db-2", false, sqlpod.Follows{Source: "db-1.db", Receiving: true, Applying: true})
	s := p.State(3)
	require.True(t, s.AllActive(), s.Missing())
	require.Equal(t, "db-1", s.Elected)
	note("db-2", false, sqlpod.Follows{Source: "db-1.db", Applying: true})
	require.Contains(t, p.State(3).Missing(), "db-2 follows db-1.db, receiving=false applying=true")
	require.True(t, p.Copies(3).AllActive(), "it connects to the new primary")
	note("db-2", false, sqlpod.Follows{Source: "db-1.db", Applying: true, Failure: "error connecting"})
	require.False(t, p.Copies(3).AllActive(), "and cannot")
	note("db-2", false, sqlpod.Follows{Source: "db-0.db", Applying: true})
	require.False(t, p.Copies(3).AllActive(), "another one is not there to be connected to")
	note("db-2", false, sqlpod.Follows{Source: "db-0.db", Receiving: true, Applying: true})
	require.Contains(t, p.State(3).Missing(), "db-2 follows db-0.db")
	require.True(t, p.Copies(3).AllActive(), "it is a copy all the same")
}
