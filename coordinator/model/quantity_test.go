package model

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		in    string
		total int
		want  int
		bad   bool
	}{
		{in: `1`, total: 6, want: 1},
		{in: `7`, total: 6, want: 7},
		{in: `"25%"`, total: 6, want: 1},
		{in: `"25%"`, total: 8, want: 2},
		{in: `"99%"`, total: 8, want: 7},
		{in: `"100%"`, total: 8, want: 8},
		{in: `"200%"`, total: 8, want: 16},
		{in: `"1%"`, total: 8, want: 1},
		{in: `"25%"`, total: 0, want: 1},
		{in: `0`, bad: true},
		{in: `-1`, bad: true},
		{in: `1.5`, bad: true},
		{in: `1e3`, bad: true},
		{in: `"0%"`, bad: true},
		{in: `"-1%"`, bad: true},
		{in: `"+1%"`, bad: true},
		{in: `"01%"`, bad: true},
		{in: `"1.5%"`, bad: true},
		{in: `"3"`, bad: true},
		{in: `"%"`, bad: true},
		{in: `"many"`, bad: true},
		{in: `""`, bad: true},
		{in: `"99999999999999999999%"`, bad: true},
		{in: `99999999999999999999`, bad: true},
	} {
		t.Run(c.in, func(t *testing.T) {
			var q IntOrPercent
			require.NoError(t, json.Unmarshal([]byte(c.in), &q))
			n, err := q.Resolve(c.total)
			if c.bad {
				require.Error(t, err)
				require.Equal(t, 1, n, "the most careful answer")
			} else {
				require.NoError(t, err)
				require.Equal(t, c.want, n)
			}
			data, err := json.Marshal(q)
			require.NoError(t, err)
			var again IntOrPercent
			require.NoError(t, json.Unmarshal(data, &again))
			n, _ = again.Resolve(c.total)
			m, _ := q.Resolve(c.total)
			require.Equal(t, m, n)
		})
	}
	var empty IntOrPercent
	require.NoError(t, json.Unmarshal([]byte(`""`), &empty))
	require.ErrorContains(t, empty.check(), `is "": must be a count`)
	require.Equal(t, "3", Count(3).String())
	require.Equal(t, "25%", Percent(25).String())
}
