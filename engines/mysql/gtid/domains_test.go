package gtid

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func domains(t testing.TB, text string) Domains {
	t.Helper()
	d, err := ParseDomains(text)
	require.NoError(t, err)
	return d
}

func TestParseDomains(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"0-1-16":              "0-1-16",
		"1-1-2,0-1-16":        "0-1-16,1-1-2",
		"0-3-1, 0-1-5 ,0-2-9": "0-1-5,0-3-1,0-2-9",
		"0-2-16,0-1-16":       "0-2-16,0-1-16",
		"4294967295-4294967295-18446744073709551615": "4294967295-4294967295-18446744073709551615",
	} {
		d, err := ParseDomains(text)
		require.NoError(t, err, text)
		require.Equal(t, want, d.String())
	}
	for _, text := range []string{
		"0-1", "0-1-2-3", "0-1-x", "x", "0-1-1,0-1-2", "4294967296-1-1", "0-1-+1", "0--1-1", a + ":1",
		strings.Repeat(",", MaxText+1),
	} {
		_, err := ParseDomains(text)
		require.ErrorIs(t, err, ErrText, text)
	}
}

func TestLatestStandsLast(t *testing.T) {
	d := domains(t, "1-5-3,0-1-20,0-2-19")
	require.Equal(t, "0-2-19,1-5-3", d.Position(), "what was written last, whatever its number")
	require.Equal(t, "0-1-20,0-2-21", domains(t, "0-1-20,0-2-19").Union(domains(t, "0-2-21")).String())
	require.Equal(t, "0-2-15,0-1-20", domains(t, "0-1-20").Union(domains(t, "0-2-15")).String(), "an old position of a replica does not come after")
	require.Equal(t, "0-1-20", domains(t, "0-1-20").Union(domains(t, "0-1-15")).String())
	require.Equal(t, "0-1-20,7-1-1", domains(t, "0-1-20").Union(domains(t, "7-1-1")).String())
}

func TestSequencesAloneSayNothing(t *testing.T) {
	require.False(t, domains(t, "0-1-17").Contains(domains(t, "0-2-16")), "diverged, and higher")
	require.True(t, domains(t, "0-1-15,0-2-16").Contains(domains(t, "0-1-15")))
	require.True(t, domains(t, "0-1-15,0-2-20").Contains(domains(t, "0-2-16")))
	require.True(t, domains(t, "0-2-20").Contains(domains(t, "0-1-15,0-2-16")), "who has the latest has those before")
	require.False(t, domains(t, "0-1-16").Contains(domains(t, "0-1-16,1-1-1")), "another domain")
	require.True(t, domains(t, "0-1-16,1-1-1").Contains(Domains{}))
}

func FuzzDomains(f *testing.F) {
	f.Add("0-1-16,0-2-17,1-1-1", "0-1-15")
	f.Fuzz(func(t *testing.T, text, other string) {
		d, err := ParseDomains(text)
		o, err2 := ParseDomains(other)
		if err != nil || err2 != nil {
			return
		}
		both := d.Union(o)
		if !d.Contains(d) || !both.Contains(d) || !both.Contains(o) || !d.Contains(Domains{}) {
			t.Fatalf("%s and %s", d, o)
		}
		if again, err := ParseDomains(d.String()); len(d.String()) <= MaxText && (err != nil || again.String() != d.String()) {
			t.Fatalf("%s: %v", d, err)
		}
		if _, err := ParseDomains(d.Position()); len(d.String()) <= MaxText && err != nil {
			t.Fatal(err)
		}
	})
}

// Contains reports whether all of other is in it: who has the latest transaction of a domain has
// all before it.
func (d Domains) Contains(other Domains) bool { _, missing := d.lacks(other); return !missing }
