package mysql

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRetriesBackOff checks that each try may stop writes, so those that fail come less and less
// often, and soon again when that was long ago.
func TestRetriesBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(nil, Options{})
		wait := func() time.Duration {
			e.fail("why")
			d := time.Until(e.again)
			time.Sleep(d + time.Second) // the next try
			return d
		}
		for _, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
			require.Equal(t, want*time.Second, wait())
		}
		for range 100 {
			require.Equal(t, 5*time.Minute, wait())
		}
		time.Sleep(5 * time.Minute)
		require.Equal(t, 10*time.Second, wait())
	})
}
