package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhoMayLeadAndWhoIsReady checks each combination of what a coordinator may wait for, and that
// neither is taken back when the cache of another database is not synced yet.
func TestWhoMayLeadAndWhoIsReady(t *testing.T) {
	for _, c := range []struct {
		name                          string
		certified, cached, registered bool
		lead, serve                   string
	}{
		{"nothing yet", false, false, false, "no certificates", "no certificates"},
		{"no certificates", false, true, true, "no certificates", "no certificates"},
		{"no cache", true, false, true, "caches not synced", "caches not synced"},
		{"a webhook that cannot be registered", true, true, false, "", "webhook is not registered"},
		{"all", true, true, true, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := func(b *bool) func() bool { return func() bool { return *b } }
			r := &readiness{certified: is(&c.certified), cached: is(&c.cached), registered: is(&c.registered)}
			says := func(want string, err error) {
				if want == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, want)
				}
			}
			says(c.lead, r.lead())
			says(c.serve, r.serve())
			c.cached, c.registered = false, false
			require.Equal(t, c.lead == "", r.lead() == nil, "a database that comes later takes nothing away")
			require.Equal(t, c.serve == "", r.serve() == nil, "nor does a webhook that is registered again")
		})
	}
}
