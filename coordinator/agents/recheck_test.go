package agents

import (
	"crypto/tls"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The authorities have changed: who was let in by the former ones is heard no more, on connections that are open, too,
// until he shows a certificate of the new ones. Without a change nothing is cut off.
func TestAnAgentDoesNotOutliveItsAuthority(t *testing.T) {
	other := newAuthority(t)
	var changed atomic.Bool
	h := start(t, func(o *Options) {
		good := o.TLS
		o.TLS = func() (*tls.Config, error) {
			config, err := good()
			if changed.Load() {
				config.RootCAs = other.pool
			}
			return config, err
		}
	})
	f := newFakeAgent("search-0", "u0")
	h.serve("10.0.0.1", search, f)
	h.Follow(search, following(zero))
	eventually(t, func() bool { return f.open("reports") == 1 && f.open("roster") == 1 })
	h.Recheck()
	require.Equal(t, 1, f.open("reports"))
	require.Positive(t, h.connections.Len())

	changed.Store(true)
	h.Recheck()
	eventually(t, func() bool {
		return f.open("reports") == 0 && f.open("roster") == 0 && h.State(search).Problems["u0"] != ""
	})
	require.Zero(t, h.connections.Len())
	changed.Store(false)
	eventually(t, func() bool { return f.open("reports") == 1 && h.State(search).Problems["u0"] == "" })
}
