package gtid

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const (
	a = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	b = "4e11fa47-71ca-11e1-9e33-c80aa9429562"
)

func set(t testing.TB, text string) Set {
	t.Helper()
	s, err := ParseSet(text)
	require.NoError(t, err)
	return s
}

func TestParseSet(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		a + ":1":                                 a + ":1",
		strings.ToUpper(a) + ":1-5":              a + ":1-5",
		a + ":7:1-3:4-5":                         a + ":1-5:7",
		a + ":1-9:3-4":                           a + ":1-9",
		b + ":1,\n" + a + ":1-2":                 a + ":1-2," + b + ":1",
		a + ":1, ," + a + ":2,":                  a + ":1-2",
		a + ":1-3:11:Tag_1:47-49:b:1":            a + ":1-3:11:b:1:tag_1:47-49",
		a + ":x:1," + a + ":2":                   a + ":2:x:1",
		a + ":x:1," + b + ":x:1":                 a + ":x:1," + b + ":x:1",
		" " + a + " : 1 - 2 ":                    a + ":1-2",
		a + ":9223372036854775806":               a + ":9223372036854775806",
		a + ":1-9223372036854775806," + b + ":1": a + ":1-9223372036854775806," + b + ":1",
	} {
		s, err := ParseSet(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s.String(), text)
		require.Equal(t, want == "", s.Empty())
	}
	for _, text := range []string{
		a, a + ":", a + ":0", a + ":3-1", a + ":1-", a + ":-1", a + ":+1", a + ":9223372036854775807", a + ":1:x",
		a + ":x:y:1", a + ":1x", a + ":" + strings.Repeat("x", 33) + ":1", "x:1", a[1:] + ":1",
		"3e11fa4771ca11e19e33c80aa9429562:1", "3e11fa4771ca-11e1-9e33-c80a-a9429562:1", "0-1-16",
		a + ":1" + strings.Repeat(",", MaxText),
	} {
		_, err := ParseSet(text)
		require.ErrorIs(t, err, ErrText, text)
	}
}

func TestSetsAreSets(t *testing.T) {
	for _, c := range []struct{ from, what, left string }{
		{a + ":1-10", a + ":1-10", ""},
		{a + ":1-10", a + ":3-4:7", a + ":1-2:5-6:8-10"},
		{a + ":1-10", b + ":1-10", a + ":1-10"},
		{a + ":1-10", a + ":x:1-10", a + ":1-10"},
		{a + ":1-3:5-7:9", a + ":2-6", a + ":1:7:9"},
		{a + ":5", a + ":1-3:9", a + ":5"},
	} {
		require.Equal(t, c.left, set(t, c.from).Subtract(set(t, c.what)).String(), "%s - %s", c.from, c.what)
	}
	require.True(t, set(t, a+":1-10").Contains(set(t, a+":2-3:10")))
	require.False(t, set(t, a+":1-10").Contains(set(t, a+":11")))
	require.True(t, Set{}.Contains(Set{}))
	require.Equal(t, a+":1-6", set(t, a+":1-3:6").Union(set(t, a+":4-5")).String())
	require.Equal(t, a+":1", Set{}.Union(set(t, a+":1")).String())
	require.EqualValues(t, 13, set(t, a+":1-10:x:1-2,"+b+":1").Count())
	require.EqualValues(t, maxNumber, set(t, a+":1-9223372036854775806:x:1-9223372036854775806,"+b+":1-3").Count())
	require.Equal(t, b+":1", set(t, a+":1:x:1,"+b+":1").Without(strings.ToUpper(a)).String())
	require.Equal(t, a+":1", set(t, a+":1").Without("").String())
}

// model is the same as a map of single transactions.
type model map[string]bool

func drawSet(t *rapid.T, label string) (Set, model) {
	m := model{}
	var items []string
	for range rapid.IntRange(0, 6).Draw(t, label) {
		first := rapid.IntRange(1, 12).Draw(t, "first")
		last := rapid.IntRange(first, 12).Draw(t, "last")
		from := rapid.SampledFrom([]string{a, b, a + ":x"}).Draw(t, "from")
		items = append(items, fmt.Sprintf("%s:%d-%d", from, first, last))
		for n := first; n <= last; n++ {
			m[fmt.Sprintf("%s:%d", from, n)] = true
		}
	}
	s, err := ParseSet(strings.Join(items, ","))
	require.NoError(t, err)
	return s, m
}

func TestSetAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, m := drawSet(t, "s")
		o, n := drawSet(t, "o")
		left, both := model{}, model{}
		for k := range m {
			both[k] = true
			if !n[k] {
				left[k] = true
			}
		}
		for k := range n {
			both[k] = true
		}
		check := func(s Set, m model) {
			require.EqualValues(t, len(m), s.Count())
			for k := range m {
				one, err := ParseSet(k)
				require.NoError(t, err)
				require.True(t, s.Contains(one), k)
			}
			again, err := ParseSet(s.String())
			require.NoError(t, err)
			require.Equal(t, s.String(), again.String())
		}
		check(s, m)
		check(s.Subtract(o), left)
		check(s.Union(o), both)
		require.Equal(t, len(left) == 0, o.Contains(s))
	})
}

func FuzzSet(f *testing.F) {
	f.Add(a+":1-5:7:tag:1-2,"+b+":1", a+":3")
	f.Add(a+":9223372036854775806", "")
	f.Fuzz(func(t *testing.T, text, other string) {
		s, err := ParseSet(text)
		o, err2 := ParseSet(other)
		if err != nil || err2 != nil {
			return
		}
		both := s.Union(o)
		if !both.Contains(s) || !both.Contains(o) || !s.Contains(s.Subtract(o)) {
			t.Fatalf("%s and %s", s, o)
		}
		if o.Count() < maxNumber && s.Count() < maxNumber && s.Subtract(o).Union(o).String() != both.String() {
			t.Fatalf("%s and %s", s, o)
		}
		if again, err := ParseSet(s.String()); len(s.String()) <= MaxText && (err != nil || again.String() != s.String()) {
			t.Fatalf("%s: %v", s, err)
		}
	})
}

// Contains reports whether all of other is in it.
func (s Set) Contains(other Set) bool { return other.Subtract(s).Empty() }
