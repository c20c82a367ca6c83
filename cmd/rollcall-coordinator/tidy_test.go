package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Of databases that come to rest one after the other the last one counts.
func TestTidiesOnceWhenAllRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		rest := &tidier{tidy: func() { times++ }}
		for range 100 {
			rest.rested()
			time.Sleep(tidyAfter / 2)
		}
		require.Zero(t, times)
		time.Sleep(tidyAfter)
		require.Equal(t, 1, times)
		rest.rested()
		time.Sleep(2 * tidyAfter)
		require.Equal(t, 2, times, "and after the next rollout again")
	})
}
