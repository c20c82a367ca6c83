package enginetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLeaksAreTold checks that a goroutine that the case has left is counted, and one of a test that
// runs at the same time is not.
func TestLeaksAreTold(t *testing.T) {
	release := make(chan struct{})
	wait := func() { <-release }
	go wait()
	var here, elsewhere int
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.Run("case", func(t *testing.T) {
			labelled(t)
			before, _ := strays(t)
			require.Zero(t, before)
			go wait()
			go wait()
			for range 100 { // until both have come to their wait
				if here, _ = strays(t); here == 2 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
		t.Run("other", func(t *testing.T) {
			labelled(t)
			elsewhere, _ = strays(t)
		})
	}()
	<-done
	require.Equal(t, 2, here)
	require.Zero(t, elsewhere)
	close(release)
}
