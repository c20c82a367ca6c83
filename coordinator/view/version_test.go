package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"9.10.0": "9.10.0", "v2.19.1": "2.19.1", "9.10.0-slim": "9.10.0", "10.11.6-MariaDB": "10.11.6",
		"8.0.36_1": "8.0.36",
		// Not a version: a moving tag, a date of four parts, a word.
		"9.10": "", "9": "", "9.10.": "", "9..1": "", "9.10.1234567": "", "9.10.123456": "9.10.123456", "latest": "", "": "", "1.2.3.4": "", "rc-9.10.0": "",
	} {
		got := ""
		if v := numbers(text); v != nil {
			got = v.String()
		}
		require.Equal(t, want, got, text)
	}
}

func TestMinSourceIsThatOfTheNewestTemplate(t *testing.T) {
	byMajor := map[int]string{3: "2.19.0"}
	for want, versions := range map[string][]string{
		"2.19.0": {"2.19.6", "3.8.0", ""},
		"":       {"2.19.6", "", "latest"},
	} {
		var pools []model.Pool
		for _, v := range versions {
			pools = append(pools, model.Pool{Version: v})
		}
		require.Equal(t, want, minSource(byMajor, pools), versions)
	}
	require.Empty(t, minSource(nil, []model.Pool{{Version: "3.8.0"}}))
	require.Empty(t, minSource(byMajor, nil))
}

func TestJoinSaysWhatTheTargetDemands(t *testing.T) {
	s := Join(made(func(in *Input) { in.MinSource = map[int]string{9: "8.11.0"} }))
	require.Equal(t, "9.10.0", s.Pools[0].Version)
	require.Equal(t, "8.11.0", s.Cluster.Engine.MinSourceVersion)
}
