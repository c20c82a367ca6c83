package gossip

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

var nextKey = bytes.Repeat([]byte{9}, 32)

// TestRekeyWithoutAGap changes the keys of one member after the other, as Secrets
// arrive. In four steps nobody ever hears a key that is not its own; in three
// steps the last key's grace bridges the time in which they differ.
func TestRekeyWithoutAGap(t *testing.T) {
	for name, steps := range map[string][][][]byte{
		"old, both, new":                 {{testKey, nextKey}, {nextKey}},
		"old, old first, new first, new": {{testKey, nextKey}, {nextKey, testKey}, {nextKey}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const size = 6
				r := newRing(t, newNetwork(8))
				defer r.stop()
				for i := range size {
					r.add(i)
				}
				until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == size }))
				for _, keys := range steps {
					for _, m := range r.members {
						require.NoError(t, m.Rekey(keys))
						m.say(func(h *rollcallv1.Headline) { h.Epoch++ })
						until(t, 5*time.Second, "word of the one whose key has changed", r.everybody(m.knownTo(m.headline.Sequence)))
						for range 20 {
							time.Sleep(time.Second)
							require.Equal(t, size, r.count(func(m *member) bool { return m.alive() == size }))
						}
					}
				}
				for _, m := range r.members {
					require.Zero(t, testutil.ToFloat64(m.options.Metrics.rejected.WithLabelValues(string(reasonKey))))
				}
				time.Sleep(keyGrace)
				late := r.add(size)
				time.Sleep(time.Minute)
				require.Equal(t, 1, late.alive(), "the old key is worth nothing any more")
			})
		})
	}
}

// A key that is listed again stays, however often it was not.
func TestKeysAreRetiredAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := newKeys([][]byte{testKey})
		require.NoError(t, err)
		accepted := func() [][]byte { k.forget(time.Now()); return k.ring.GetKeys() }

		require.NoError(t, k.use([][]byte{nextKey}))
		require.Equal(t, nextKey, k.ring.GetPrimaryKey())
		time.Sleep(keyGrace / 2)
		require.NoError(t, k.use([][]byte{nextKey}), "the same again does not begin the grace again")
		require.Len(t, accepted(), 2)
		time.Sleep(keyGrace / 2)
		require.Equal(t, [][]byte{nextKey}, accepted())

		require.NoError(t, k.use([][]byte{testKey}))
		time.Sleep(keyGrace / 2)
		require.NoError(t, k.use([][]byte{testKey, nextKey}))
		time.Sleep(keyGrace)
		require.Equal(t, [][]byte{testKey, nextKey}, accepted())

		require.ErrorContains(t, k.use(nil), "gossip key is required")
		require.ErrorContains(t, k.use([][]byte{nextKey, {1}}), "1 bytes; it must have 32")
		require.Equal(t, testKey, k.ring.GetPrimaryKey(), "nothing is changed by halves")
	})
}

func TestEncryptionIsNotTurnedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(1))
		defer r.stop()
		m := r.add(0, func(o *Options) { o.Keys, o.Insecure = nil, true })
		require.ErrorContains(t, m.Rekey([][]byte{testKey}), "cannot be turned on")
	})
}
