package config

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func pair(t *testing.T) (certificate, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func write(t *testing.T, dir, name string, data []byte) {
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir, false, [sha256.Size]byte{})
	require.ErrorIs(t, err, ErrIncomplete)
	require.ErrorContains(t, err, KeyGossip)

	certificate, key := pair(t)
	good := map[string][]byte{
		KeyConfig: []byte(`{"clusterUID":"u","service":"s","engine":"Solr","connection":{"port":8983},"from":"a newer coordinator"}`),
		KeyGossip: bytes.Repeat([]byte{1}, 32), KeyCert: certificate, KeyKey: key, KeyCA: certificate,
	}
	for name, data := range good {
		write(t, dir, name, data)
	}
	m, err := Read(dir, false, [sha256.Size]byte{})
	require.NoError(t, err)
	require.Equal(t, "Solr", m.File.Engine)
	require.Equal(t, 8983, m.File.Connection.Port)
	require.Len(t, m.GossipKeys, 1)
	again, err := Read(dir, false, [sha256.Size]byte{})
	require.NoError(t, err)
	require.Equal(t, m.Fingerprint, again.Fingerprint)

	_, other := pair(t)
	for name, c := range map[string]struct {
		file string
		data []byte
		want string
	}{
		"key of another pair": {KeyKey, other, "tls.crt and tls.key"},
		"no PEM":              {KeyCA, []byte("x"), "ca.crt: holds no PEM"},
		"short gossip key":    {KeyGossip, []byte("short"), "gossip.key: 5 bytes"},
		"too many keys":       {KeyGossip, make([]byte, 4*32), "128 bytes"},
		"not JSON":            {KeyConfig, []byte("engine: Solr"), "agent.json: not the expected JSON"},
		"wrong type":          {KeyConfig, []byte(`{"connection":{"port":"8983"}}`), "port"},
		"no UID":              {KeyConfig, []byte(`{"engine":"Solr"}`), "clusterUID is empty"},
		"no engine":           {KeyConfig, []byte(`{"clusterUID":"u"}`), "engine is empty"},
		"port":                {KeyConfig, []byte(`{"clusterUID":"u","engine":"S","connection":{"port":70000}}`), "connection.port is 70000"},
		"timeout":             {KeyConfig, []byte(`{"clusterUID":"u","engine":"S","drain":{"timeoutSeconds":-1}}`), "drain.timeoutSeconds"},
		"no network":          {KeyConfig, []byte(`{"clusterUID":"u","engine":"S","gossipCIDRs":["10.0.0.1"]}`), `"10.0.0.1"`},
		"too large":           {KeyConfig, make([]byte, maxFileBytes+1), "larger than"},
	} {
		write(t, dir, c.file, c.data)
		_, err := Read(dir, false, [sha256.Size]byte{})
		require.ErrorContains(t, err, c.want, name)
		require.NotErrorIs(t, err, ErrIncomplete)
		write(t, dir, c.file, good[c.file])
	}

	write(t, dir, KeyGossip, bytes.Repeat([]byte{1}, 64))
	two, err := Read(dir, false, [sha256.Size]byte{})
	require.NoError(t, err)
	require.Len(t, two.GossipKeys, 2)
	require.NotEqual(t, m.Fingerprint, two.Fingerprint)

	for _, name := range []string{KeyGossip, KeyCert, KeyKey, KeyCA} {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	open, err := Read(dir, true, [sha256.Size]byte{})
	require.NoError(t, err)
	require.Empty(t, open.GossipKeys)
	require.Nil(t, open.Certificate)
}

func TestGossipFrom(t *testing.T) {
	ip := netip.MustParseAddr
	var f File
	require.True(t, f.GossipFrom(ip("10.1.2.3")), "no list, no limit")
	require.True(t, f.NearPods(ip("10.1.2.3")))
	f.GossipCIDRs = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}
	g := File{PodNetworks: f.GossipCIDRs}
	for text, want := range map[string]bool{"10.1.2.3": true, "10.2.2.3": false, "fd00::7": true, "fe80::7": false, "::ffff:10.1.2.3": true} {
		require.Equal(t, want, f.GossipFrom(ip(text)), text)
		require.Equal(t, want, g.NearPods(ip(text)), text)
		require.True(t, g.GossipFrom(ip(text)), "%s: all are heard", text)
	}
}
