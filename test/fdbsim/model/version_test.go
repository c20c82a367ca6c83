package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOtherVersionLine(t *testing.T) {
	m := New(Spec{})
	restart := func(instance string) {
		p := *m.Process(instance)
		p.Version = Version{7, 4, 1}
		m.Kill(instance)
		m.Join(p)
		m.Advance(10 * time.Second)
	}
	restart("fdb-0")
	require.Equal(t, "7.3.63", m.Version.String())
	require.Len(t, m.incompatible(), 1, "one process alone does not understand the others")
	for _, p := range m.Processes {
		if p.Instance != "fdb-0" {
			restart(p.Instance)
		}
	}
	require.True(t, m.Settle(time.Hour))
	require.Equal(t, "7.4.1", m.Version.String())
	require.Empty(t, m.incompatible())
	require.Equal(t, 1, m.Truth().SpareCopies)
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]Version{"7.3.63": {7, 3, 63}, "6.3.25": {6, 3, 25}} {
		v, err := ParseVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, v)
		require.Equal(t, text, v.String())
	}
	for _, text := range []string{"", "7.3", "7.3.x", "7.3.63.1", "-7.3.1"} {
		_, err := ParseVersion(text)
		require.Error(t, err, text)
	}
	type features struct{ localities, hostnames, age, proxies, spaceForAll, waitsForAll, absent bool }
	for text, want := range map[string]features{
		"6.3.25": {spaceForAll: true},
		"7.0.0":  {localities: true, age: true, proxies: true, spaceForAll: true, waitsForAll: true},
		"7.1.7":  {localities: true, hostnames: true, age: true, proxies: true, waitsForAll: true},
		"7.1.41": {localities: true, hostnames: true, age: true, proxies: true},
		"7.1.42": {localities: true, hostnames: true, age: true, proxies: true, absent: true},
		"7.3.25": {localities: true, hostnames: true, age: true, proxies: true},
		"7.3.63": {localities: true, hostnames: true, age: true, proxies: true, absent: true},
		"7.4.0":  {localities: true, hostnames: true, age: true, proxies: true, absent: true},
	} {
		v, err := ParseVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, features{v.Localities(), v.Hostnames(), v.RecoveryAge(), v.SplitProxies(), v.SpaceForAll(), v.WaitsForAll(), v.MatchesAbsent()}, text)
	}
}
