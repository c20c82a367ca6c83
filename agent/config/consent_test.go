package config

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOwnHost(t *testing.T) {
	for _, host := range []string{"", "localhost", "LocalHost", "127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"} {
		require.True(t, OwnHost(host), host)
	}
	// DNS decides what a name means, and a short form of an address is a name.
	for _, host := range []string{"solr", "localhost.example", "a.localhost", "127.1", "127.0.0.1.example", "10.0.0.1", "0.0.0.0", "::", "::1%eth0", "::ffff:10.0.0.1", "[::1]", " localhost"} {
		require.False(t, OwnHost(host), host)
	}
}

// TestWithheld checks that the agent itself sends a password only to hosts that the Secret names,
// whichever Secret its DatabaseCluster now names.
func TestWithheld(t *testing.T) {
	file := func(host string, secrets map[string]Secret) *File {
		return &File{Connection: Connection{Host: host}, Secrets: secrets}
	}
	allowed := map[string]Secret{"mine": {Addresses: []string{"db.example", "fd00::1"}}, "other": {Addresses: []string{"evil.example"}}, "bad": {Refused: "no label"}}

	require.Empty(t, file("", allowed).Withheld("mine"))
	require.Empty(t, file("127.0.0.1", allowed).Withheld("mine"))
	require.Empty(t, file("DB.example.", allowed).Withheld("mine"))
	require.Empty(t, file("fd00:0::1", allowed).Withheld("mine"))
	require.Equal(t, "Secret mine does not allow that its password is shown to evil.example", file("evil.example", allowed).Withheld("mine"))
	require.Equal(t, "no label", file("", allowed).Withheld("bad"))
	require.Equal(t, "the coordinator has not said yet that agents may use Secret new", file("", allowed).Withheld("new"))
	require.NotEmpty(t, file("", nil).Withheld("mine"))
	require.Empty(t, file("", allowed).Withheld(""), "a pod that mounts none")
}

// TestAllowedAtAPort checks that a host is allowed only at the port where the database listens.
// Anybody may listen at another port of a node or a balancer.
func TestAllowedAtAPort(t *testing.T) {
	said := Secret{Addresses: []string{"db.example", "10.0.0.7:3307", "fd00::1", "[fd00::2]:3307", "odd.example:0", "odd.example:x"}}
	for address, want := range map[string]bool{
		"db.example": true, "DB.example.:3306": true, "db.example:3307": false, "10.0.0.7": false, "10.0.0.7:3307": true, "10.0.0.7:3306": false,
		"fd00::1": true, "[fd00::1]:3307": false, "[fd00::2]:3307": true, "fd00::2": false, "odd.example": false, "evil.example:3307": false,
	} {
		host, port := SplitAddress(address)
		require.Equal(t, want, said.Allows(host, port, UsualPort("MySQL")), address)
		file := &File{Engine: "MySQL", Connection: Connection{Host: host, Port: port}, Secrets: map[string]Secret{"mine": said}}
		require.Equal(t, want, file.Withheld("mine") == "", address)
	}
	file := &File{Engine: "MySQL", Connection: Connection{Host: "db.example", Port: 31337}, Secrets: map[string]Secret{"mine": said}}
	require.Equal(t, "Secret mine does not allow that its password is shown to db.example:31337", file.Withheld("mine"))

	for text, want := range map[string]string{"https://a.example/x": "a.example", "https://a.example:443": "a.example", "http://a.example:443": "a.example:443", "https://[fd00::1]:8443/": "[fd00::1]:8443"} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, Address(AtURL(u)))
	}
}
