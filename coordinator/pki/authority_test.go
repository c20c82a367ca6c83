package pki

import (
	"fmt"
	"maps"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newAuthority(t *testing.T, now time.Time) Authority {
	t.Helper()
	a, err := NewAuthority(SecretAuthority, now)
	require.NoError(t, err)
	return a
}

func TestAuthorityRoundTrip(t *testing.T) {
	a := newAuthority(t, epoch)
	read, err := DecodeAuthority(a.Encode())
	require.NoError(t, err)
	require.Equal(t, a.Encode(), read.Encode())

	next, changed, err := a.Advance(a.signer.RenewAt())
	require.NoError(t, err)
	require.True(t, changed)
	read, err = DecodeAuthority(next.Encode())
	require.NoError(t, err)
	require.Equal(t, next.Encode(), read.Encode())
}

func TestDecodeAuthorityNamesTheKey(t *testing.T) {
	good := newAuthority(t, epoch).Encode()
	other := newAuthority(t, epoch).Encode()
	leaf, err := newAuthority(t, epoch).Issue(ClientProfile("reader"), epoch)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(map[string][]byte)
		want   string
	}{
		"empty":          {func(d map[string][]byte) { clear(d) }, "keys tls.crt and tls.key: no certificate"},
		"no key":         {func(d map[string][]byte) { delete(d, "tls.key") }, "keys tls.crt and tls.key: no private key"},
		"garbage key":    {func(d map[string][]byte) { d["tls.key"] = pemBlock("PRIVATE KEY", "hunter2") }, "not valid PKCS #8"},
		"another's key":  {func(d map[string][]byte) { d["tls.key"] = other["tls.key"] }, "does not belong"},
		"no bundle":      {func(d map[string][]byte) { delete(d, "ca.crt") }, "key ca.crt: no certificate"},
		"next unkeyed":   {func(d map[string][]byte) { d["next.crt"] = other["tls.crt"] }, "keys next.crt and next.key"},
		"no time":        {func(d map[string][]byte) { d["next.signs"] = []byte("soon") }, "key next.signs: must be a time as 2006-01-02T15:04:05Z"},
		"garbage bundle": {func(d map[string][]byte) { d["ca.crt"] = pemBlock("CERTIFICATE", "x") }, "key ca.crt: certificate 1"},
		"a leaf": {func(d map[string][]byte) {
			d["tls.crt"], d["tls.key"] = leaf.CertPEM(), leaf.KeyPEM()
		}, "not the certificate of an authority"},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			maps.Copy(data, good)
			c.change(data)
			_, err := DecodeAuthority(data)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// TestRotationKeepsTrust walks through twenty-two years, a step every six days. Every
// certificate in use must be trusted by whoever read the bundle up to the
// overlap before, and the other way round.
func TestRotationKeepsTrust(t *testing.T) {
	a := newAuthority(t, epoch)
	type reader struct {
		at   time.Time
		read Authority
		pair Pair
	}
	leaf, err := a.Issue(ClientProfile("coordinator"), epoch)
	require.NoError(t, err)
	stale := reader{at: epoch, read: a, pair: leaf}
	const step = 6 * 24 * time.Hour
	rotations := 0
	for now := epoch; now.Before(epoch.AddDate(22, 0, 0)); now = now.Add(step) {
		next, _, err := a.Advance(now)
		require.NoError(t, err)
		if next.signer.cert != a.signer.cert {
			rotations++
		}
		a = next
		if a.Due(leaf, ClientProfile("coordinator"), now) {
			leaf, err = a.Issue(ClientProfile("coordinator"), now)
			require.NoError(t, err)
		}
		if now.Sub(stale.at) > Overlap-step {
			stale = reader{at: now, read: a, pair: leaf}
		}
		require.NoError(t, trusts(stale.read, leaf, now), "a reader of %s does not trust at %s", stale.at, now)
		require.NoError(t, trusts(a, stale.pair, now), "at %s the certificate of %s is not trusted", now, stale.at)
		require.LessOrEqual(t, len(a.trusted()), 3)
	}
	require.Equal(t, 3, rotations)
}

// TestRotate walks through a rotation that a person asked for, minute by minute,
// with readers whose files are up to four minutes old.
func TestRotate(t *testing.T) {
	const lag = 4 * time.Minute
	first := newAuthority(t, epoch)
	start := epoch.Add(time.Hour)
	a, err := first.Rotate(start)
	require.NoError(t, err)
	require.Equal(t, "step 1 of 3: the next authority is trusted, and signs from 2026-11-20T13:05:00Z", a.Rotation())
	require.Equal(t, start.Add(RotateOverlap), a.Step())

	type moment struct {
		at   time.Time
		read Authority
		pair Pair
	}
	profile := ClientProfile("coordinator")
	leaf, err := first.Issue(profile, start)
	require.NoError(t, err)
	var past []moment
	var said []string
	for now := start; now.Before(start.Add(3 * RotateOverlap)); now = now.Add(time.Minute) {
		stored, err := DecodeAuthority(a.Encode())
		require.NoError(t, err)
		a, _, err = stored.Advance(now)
		require.NoError(t, err)
		if a.Due(leaf, profile, now) {
			leaf, err = a.Issue(profile, now)
			require.NoError(t, err)
		}
		if len(said) == 0 || said[len(said)-1] != a.Rotation() {
			said = append(said, a.Rotation())
		}
		past = append(past, moment{now, a, leaf})
		for _, p := range past {
			if now.Sub(p.at) <= lag {
				require.NoError(t, trusts(p.read, leaf, now), "who read at %s does not trust at %s", p.at, now)
				require.NoError(t, trusts(a, p.pair, now), "at %s the certificate of %s is not trusted", now, p.at)
			}
		}
	}
	require.Equal(t, []string{
		"step 1 of 3: the next authority is trusted, and signs from 2026-11-20T13:05:00Z",
		"step 2 of 3: the next authority signs, and the former is trusted until 2026-11-20T13:10:00Z",
		"",
	}, said)
	require.Zero(t, a.Step())
	require.Len(t, a.trusted(), 1)
	stolen, err := first.Issue(profile, start)
	require.NoError(t, err)
	require.Error(t, trusts(a, stolen, start.Add(time.Hour)), "what the former signed is worth nothing")
}

// No coordinator ran when the steps were due. Each is made up for, and the former is trusted for
// its whole overlap all the same.
func TestRotateAfterSilence(t *testing.T) {
	a, err := newAuthority(t, epoch).Rotate(epoch)
	require.NoError(t, err)
	late := epoch.Add(24 * time.Hour)
	a, changed, err := a.Advance(late)
	require.NoError(t, err)
	require.True(t, changed)
	require.Len(t, a.trusted(), 2)
	require.Equal(t, late.Add(RotateOverlap), a.Step())
}

func TestPairShowsNoKey(t *testing.T) {
	a := newAuthority(t, epoch)
	key, err := a.signer.key.Bytes()
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{a.signer, &a.signer, a, &a} {
			text := fmt.Sprintf(verb, value)
			for _, form := range []string{"%v", "%x", "%X", "%#v"} {
				require.NotContains(t, text, fmt.Sprintf(form, key))
			}
			require.NotContains(t, text, new(big.Int).SetBytes(key).String())
		}
	}
}
