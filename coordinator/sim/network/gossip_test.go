package network

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// What an agent told last arrives when there is a way again, however long there was none, whether it
// was told before or meanwhile.
func TestHeadlinesArriveAfterACut(t *testing.T) {
	const cut = time.Second
	for name, told := range map[string]time.Duration{"on its way": cut - time.Millisecond, "told meanwhile": cut + time.Millisecond} {
		for _, lasts := range []time.Duration{2 * time.Second, 20 * time.Second, 2 * time.Minute} {
			t.Run(name+" "+lasts.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					loop := clock.New(1)
					h := New(loop, "")
					one, other := h.gossip.mesh(&Agent{Pod: "db-0", UID: "u0"}), h.gossip.mesh(&Agent{Pod: "db-1", UID: "u1"})
					for _, m := range []*mesh{one, other} {
						m.here = true
						h.gossip.meshes[m.agent.UID] = m
					}
					say := func(sequence uint64) {
						require.NoError(t, one.Publish(&rollcallv1.Headline{Pod: "db-0", PodUid: "u0", Incarnation: 1, Sequence: sequence}))
					}
					loop.In(0, func() { say(1) })
					loop.In(told, func() { say(2) })
					loop.In(cut, func() { h.Blocked = func(string, string) bool { return true } })
					loop.In(cut+lasts, func() { h.Blocked = func(string, string) bool { return false } })
					loop.In(cut+lasts+16*time.Second, loop.Stop)
					loop.Run()
					entries := other.known()
					require.Len(t, entries, 1)
					require.EqualValues(t, 2, entries[0].Headline.GetSequence())
				})
			})
		}
	}
}
