package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOwnHost(t *testing.T) {
	for _, host := range []string{"", "localhost", "LocalHost", "127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"} {
		require.True(t, OwnHost(host), host)
	}
	// A name is what DNS makes of it, and a short form of an address is a name.
	for _, host := range []string{"solr", "localhost.example", "a.localhost", "127.1", "127.0.0.1.example", "10.0.0.1", "0.0.0.0", "::", "::1%eth0", "::ffff:10.0.0.1", "[::1]", " localhost"} {
		require.False(t, OwnHost(host), host)
	}
}

// The agent itself shows a password to nobody whom the Secret does not name, whatever the
// Secret is that somebody has its DatabaseCluster name now.
func TestWithheld(t *testing.T) {
	file := func(host string, secrets map[string]Secret) *File {
		return &File{Connection: Connection{Host: host}, Secrets: secrets}
	}
	allowed := map[string]Secret{"mine": {Hosts: []string{"db.example", "fd00::1"}}, "other": {Hosts: []string{"evil.example"}}, "bad": {Refused: "no label"}}

	require.Empty(t, file("", allowed).Withheld("mine"))
	require.Empty(t, file("127.0.0.1", allowed).Withheld("mine"))
	require.Empty(t, file("DB.example.", allowed).Withheld("mine"))
	require.Empty(t, file("fd00:0::1", allowed).Withheld("mine"))
	require.Equal(t, "Secret mine does not allow that its password is shown to evil.example", file("evil.example", allowed).Withheld("mine"))
	require.Equal(t, "no label", file("", allowed).Withheld("bad"))
	require.Equal(t, "the coordinator has not said yet that agents may use Secret new", file("", allowed).Withheld("new"))

	require.Empty(t, file("evil.example", nil).Withheld("mine"), "a coordinator from before, which does not say")
	require.Empty(t, file("", allowed).Withheld(""), "a pod from before, which does not know its Secret's name")
}
