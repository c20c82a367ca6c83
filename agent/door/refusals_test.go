package door

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRefusalsAreToldForAnHour checks that reports have the number of refusals, since when, and the
// last sender, until an hour without one has passed.
func TestRefusalsAreToldForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none *Refusals
		none.Note("a", "b")
		require.Empty(t, none.Lately())

		r := &Refusals{}
		begin := time.Now()
		for n := range 3 {
			r.Note("gossip: key", fmt.Sprintf("10.0.0.%d:1", n))
			time.Sleep(RefusedLately - time.Second)
		}
		r.Note("caller: certificate", strings.Repeat("x", 1000))
		lately := r.Lately()
		require.Len(t, lately, 2)
		require.Equal(t, "caller: certificate", lately[0].What)
		require.Len(t, lately[0].From, MaxOrigin)
		require.Equal(t, Refusal{"gossip: key", 3, begin, begin.Add(2 * (RefusedLately - time.Second)), "10.0.0.2:1"}, lately[1])

		time.Sleep(2 * time.Second)
		require.Len(t, r.Lately(), 1)
		time.Sleep(time.Minute)
		r.Note("gossip: key", "")
		require.EqualValues(t, 1, r.Lately()[0].Count)
		require.Equal(t, time.Now(), r.Lately()[0].First)
	})
}

func TestRefusalsAreBounded(t *testing.T) {
	r := &Refusals{}
	for n := range 1000 {
		r.Note(fmt.Sprint(n), "")
	}
	require.Len(t, r.Lately(), MaxRefusals)
	require.Equal(t, "999", r.Lately()[0].What)
}
