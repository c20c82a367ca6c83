package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
)

// TestCredentialsAreWithheld checks that the mounted Secret is used only once the coordinator
// allows it. Without a password there is nothing to withhold.
func TestCredentialsAreWithheld(t *testing.T) {
	dir := t.TempDir()
	withheld := secretFiles{dir: dir, withheld: "no label: kubectl label"}
	user, password, err := withheld.user("")()
	require.NoError(t, err)
	require.Empty(t, user)
	require.Empty(t, password.Reveal())

	for name, text := range map[string]string{"username": "ann", "password": "hunter2", "replication-username": "rep", "replication-password": "hunter3"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, prefix := range []string{"", "replication-"} {
		user, password, err = withheld.user(prefix)()
		require.EqualError(t, err, "no label: kubectl label")
		require.Empty(t, user)
		require.Empty(t, password.Reveal())
		user, _, err = secretFiles{dir: dir}.user(prefix)()
		require.NoError(t, err)
		require.NotEmpty(t, user)
	}
}

// TestEngineFromWithholds checks that the name of the mounted Secret counts, not the one that is
// configured now.
func TestEngineFromWithholds(t *testing.T) {
	create := engineFrom(source{credentials: t.TempDir(), secret: "mine", state: t.TempDir(), pod: "db-0"})
	tls := config.Connection{TLS: config.ConnectionTLS{Enabled: true}}
	file := config.File{Engine: "FoundationDB", Connection: tls, Secrets: map[string]config.Secret{"mine": {Refused: "no label"}, "other": {}}}
	_, err := create(file, nil)
	require.EqualError(t, err, "no label", "its key is not used")
	file.Secrets["mine"] = config.Secret{}
	e, err := create(file, nil)
	require.NoError(t, err)
	require.NoError(t, e.Close())
}

// TestFilesOfALaterSecret checks which Secret an agent uses: the mounted one as long as it may, and else
// the copy of the one that was named later, if that may be used.
func TestFilesOfALaterSecret(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"database.username": "ann", "database.password": "hunter2", "database.replication-username": "rep", "database.replication-password": "hunter3"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	told := map[string]config.Secret{"mine": {}, "gone": {Refused: "there is no Secret"}, "later": {}, "strange": {Refused: "no label"}}
	for _, c := range []struct{ mounted, copied, user, from, err string }{
		{"", "", "", "", ""},
		{"", "later", "ann", "Secret later", ""},
		{"mine", "later", "", "Secret mine", ""},
		{"gone", "later", "ann", "Secret later", ""},
		{"", "strange", "", "Secret strange", "no label"},
		{"", "unknown", "", "Secret unknown", "the coordinator has not said yet that agents may use Secret unknown"},
	} {
		files := source{credentials: t.TempDir(), secret: c.mounted, config: dir}.files(config.File{Secrets: told, Copied: c.copied})
		require.Equal(t, c.from, files.from, "%+v", c)
		user, password, err := files.user("")()
		require.Equal(t, c.user, user, "%+v", c)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		if c.user != "" {
			require.Equal(t, "hunter2", password.Reveal())
			user, _, err = files.user("replication-")()
			require.NoError(t, err)
			require.Equal(t, "rep", user)
		}
	}
}

// TestOwnAddressIsOfTheOwnPod checks that the pod's own address stands in for localhost only.
func TestOwnAddressIsOfTheOwnPod(t *testing.T) {
	from := source{address: netip.MustParseAddr("10.0.0.7")}
	for host, want := range map[string]bool{"": true, "localhost": true, "127.0.0.1": true, "db.example": false, "10.0.0.8": false} {
		access, err := from.access(config.Connection{Host: host}, secretFiles{})
		require.NoError(t, err)
		require.Equal(t, want, access.Dial != nil, host)
	}
}

// TestClientCertificateIsRead checks that certificate and key come together, and that a key that does
// not belong to its certificate makes no adapter.
func TestClientCertificateIsRead(t *testing.T) {
	a := authority.New(t, "ours")
	cert, key := a.Issue(authority.Leaf{Name: "agent"})
	dir := t.TempDir()
	from := source{credentials: t.TempDir(), config: dir, state: t.TempDir(), pod: "db-0"}
	create := engineFrom(from)
	file := config.File{Engine: "OpenSearch", Connection: config.Connection{TLS: config.ConnectionTLS{Enabled: true, CA: a.CA, Cert: cert}}}
	_, err := create(file, nil)
	require.ErrorContains(t, err, "connection.tls.clientSecret: open ")
	require.NoError(t, os.WriteFile(filepath.Join(dir, config.KeyClientKey), []byte("hunter2"), 0o600))
	_, err = create(file, nil)
	require.ErrorContains(t, err, "tls: client certificate: ")
	require.NotContains(t, err.Error(), "hunter2")
	require.NoError(t, os.WriteFile(filepath.Join(dir, config.KeyClientKey), []byte(key), 0o600))
	for _, engine := range []string{"OpenSearch", "Solr", "MySQL", "MariaDB", "Galera"} {
		file.Engine = engine
		e, err := create(file, nil)
		require.NoError(t, err, engine)
		require.NoError(t, e.Close())
	}
	tls, err := from.tls(file.Connection.TLS)
	require.NoError(t, err)
	require.Equal(t, cert, tls.Cert)
	require.Equal(t, key, tls.Key.Reveal())
	require.NotContains(t, fmt.Sprintf("%+v %#v", tls, tls), "PRIVATE KEY")
	file.Engine = "FoundationDB"
	_, err = create(file, nil)
	require.ErrorContains(t, err, "FoundationDB's certificate is in credentialsSecret")
}
