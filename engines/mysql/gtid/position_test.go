package gtid

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func position(t testing.TB, n Notation, text string) Position {
	t.Helper()
	p, err := Parse(n, text)
	require.NoError(t, err)
	return p
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		notation     Notation
		have, wanted string
		why          string // empty means it is
	}{
		{MySQL, a + ":1-10", a + ":1-10", ""},
		{MySQL, a + ":1-10," + b + ":1", a + ":1-10", ""},
		{MySQL, a + ":1-9", a + ":1-10", "transactions are missing (1): " + a + ":10"},
		{MySQL, None, a + ":1-10", "transactions are missing (10): " + a + ":1-10"},
		{MySQL, a + ":1", None, ""},
		{MySQL, None, None, ""},
		{MySQL, a + ":1", "", "it is not known"},
		{MySQL, "", a + ":1", "it is not known"},
		{MySQL, "", None, "it is not known"},
		{MySQL, None, "", "it is not known"},
		{MySQL, "", "", "it is not known"},
		{MySQL, "x", a + ":1", "not a GTID position: must be uuid:interval"},
		{MySQL, a + ":1", "0-1-1", "not a GTID position: must be uuid:interval"},
		{MariaDB, "0-1-16", "0-1-16", ""},
		{MariaDB, "0-1-17", "0-1-16", ""},
		{MariaDB, "0-1-16,0-2-17", "0-1-16", ""},
		{MariaDB, "0-1-15", "0-1-16", "0-1-16 is missing: it has 0-1-15"},
		{MariaDB, "0-1-17", "0-2-16", "0-2-16 is missing although it has 0-1-17: it has diverged"},
		{MariaDB, "0-1-16", "0-2-16", "0-2-16 is missing although it has 0-1-16: it has diverged"},
		{MariaDB, "0-1-16", "1-1-1", "1-1-1 is missing, and all else of domain 1"},
		{MariaDB, None, "0-1-16", "0-1-16 is missing, and all else of domain 0"},
		{MariaDB, "0-1-16", None, ""},
		{MariaDB, None, None, ""},
		{MariaDB, "0-1-16", "", "it is not known"},
		{MariaDB, "", None, "it is not known"},
		{MariaDB, "", "", "it is not known"},
		{Unknown, None, None, "not a GTID position: unknown notation"},
	} {
		ok, why := AtLeast(c.notation, c.have, c.wanted)
		require.Equal(t, c.why == "", ok, "%s >= %s", c.have, c.wanted)
		require.Contains(t, why, c.why)
	}
	ok, _ := position(t, MySQL, a+":1").AtLeast(position(t, MariaDB, ""))
	require.False(t, ok, "of different kinds")
	ok, _ = Position{}.AtLeast(Position{})
	require.False(t, ok, "unknown is at least nothing")
}

// TestNothingIsNotUnknown checks that an empty position stays an empty position when it is written
// and read back.
func TestNothingIsNotUnknown(t *testing.T) {
	for _, n := range []Notation{MySQL, MariaDB} {
		for _, text := range []string{"", None} {
			p := position(t, n, text)
			require.True(t, p.Empty())
			require.Equal(t, None, p.String())
		}
		again, err := Told(n, position(t, n, "").String())
		require.NoError(t, err)
		require.True(t, again.Empty())
		_, err = Told(n, "")
		require.ErrorIs(t, err, ErrText)
	}
	require.Empty(t, Position{}.String())
	require.Equal(t, a+":1", position(t, MySQL, a+":1").Union(position(t, MySQL, None)).String())
	_, err := Parse(Unknown, None)
	require.ErrorIs(t, err, ErrText)
	_, err = Parse(MySQL, None+","+a+":1")
	require.ErrorIs(t, err, ErrText)
}

func TestAhead(t *testing.T) {
	for _, c := range []struct {
		notation        Notation
		one, other      string
		ahead, diverged bool
	}{
		{MySQL, a + ":1-10", a + ":1-9", true, false},
		{MySQL, a + ":1-9", a + ":1-10", false, false},
		{MySQL, a + ":1-10", a + ":1-10", false, false},
		{MySQL, a + ":1", None, true, false},
		{MySQL, None, None, false, false},
		{MySQL, a + ":1-10," + b + ":1", a + ":1-11", false, true},
		{MariaDB, "0-1-16", "0-1-15", true, false},
		{MariaDB, "0-1-16", "0-1-16", false, false},
		{MariaDB, "0-1-17", "0-2-16", false, true},
		{MariaDB, "0-1-16,0-2-17", "0-1-16", true, false},
	} {
		one, other := position(t, c.notation, c.one), position(t, c.notation, c.other)
		require.Equal(t, c.ahead, one.Ahead(other), "%s %s", c.one, c.other)
		require.Equal(t, c.diverged, one.Diverged(other), "%s %s", c.one, c.other)
		require.False(t, one.Ahead(Position{}))
		require.False(t, Position{}.Ahead(one))
	}
}

func TestErrant(t *testing.T) {
	for _, c := range []struct {
		notation              Notation
		replica, own          string
		primary, id, expected string
	}{
		{MySQL, a + ":1-10", b, a + ":1-10", a, ""},
		{MySQL, a + ":1-12", b, a + ":1-10", a, ""}, // the primary was looked at a moment earlier
		{MySQL, a + ":1-10:x:1", b, a + ":1-10", a, ""},
		{MySQL, a + ":1-10," + b + ":1-2", b, a + ":1-10", a, b + ":1-2"},
		{MySQL, a + ":1-10," + b + ":1-2", b, a + ":1-10," + b + ":1", a, b + ":2"},
		{MariaDB, "0-1-16", "2", "0-1-16", "1", ""},
		{MariaDB, "0-1-18", "2", "0-1-16", "1", ""},
		{MariaDB, "0-1-16,0-2-17", "2", "0-1-16", "1", "0-2-17"},
		{MariaDB, "0-2-16,0-1-17", "2", "0-1-17", "1", "0-2-16"}, // written between, not strict
		{MariaDB, "0-3-16,0-1-17", "2", "0-1-17", "1", ""},       // of a server before the primary was made from a backup
		{MariaDB, "0-3-18", "2", "0-1-17", "1", "0-3-18"},        // follows somebody else
	} {
		got, err := position(t, c.notation, c.replica).Errant(c.own, position(t, c.notation, c.primary), c.id)
		require.NoError(t, err)
		require.Equal(t, c.expected, got, "%s of %s", c.replica, c.primary)
	}
	_, err := position(t, MySQL, "").Errant(b, Position{}, a)
	require.Error(t, err)
	_, err = position(t, MySQL, "").Errant(b, position(t, MySQL, ""), "")
	require.Error(t, err, "whose are tolerated is not known")
}

func TestUnion(t *testing.T) {
	require.Equal(t, a+":1-3", position(t, MySQL, a+":1-2").Union(position(t, MySQL, a+":3")).String())
	require.Equal(t, "0-1-2,0-2-3", position(t, MariaDB, "0-1-2").Union(position(t, MariaDB, "0-2-3")).String())
	require.Equal(t, Position{}, position(t, MySQL, "").Union(position(t, MariaDB, "")))
	require.True(t, Position{}.Empty())
}

func TestReasonsAreShort(t *testing.T) {
	var many []string
	for n := 1; n < 2000; n += 2 {
		many = append(many, string(rune('0'+n%10)))
	}
	require.Less(t, len(short(a+":"+strings.Join(many, ":"))), 210)
	require.Less(t, len(short(strings.Repeat("x", 500))), 210)
}

// Ahead reports whether it has all of other and more. Of two that have diverged neither is ahead.
func (p Position) Ahead(other Position) bool {
	more, _ := p.AtLeast(other)
	same, _ := other.AtLeast(p)
	return more && !same && other.notation != Unknown
}
