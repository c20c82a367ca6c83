package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Of databases that come to rest one after the other the last one counts.
func TestTidiesOnceWhenAllRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times atomic.Int64
		rest := &tidier{tidy: func() { times.Add(1) }}
		for range 100 {
			rest.rested()
			time.Sleep(tidyAfter / 2)
		}
		require.Zero(t, times.Load())
		time.Sleep(tidyAfter)
		require.EqualValues(t, 1, times.Load())
		rest.rested()
		time.Sleep(2 * tidyAfter)
		require.EqualValues(t, 2, times.Load(), "and after the next rollout again")
	})
}
