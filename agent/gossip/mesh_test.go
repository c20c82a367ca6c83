package gossip

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func TestDeadAndLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(3))
		defer r.stop()
		for i := range 5 {
			r.add(i)
		}
		until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 5 }))
		time.Sleep(5 * time.Second)

		r.members[1].stop() // says good-bye
		watcher := r.members[0]
		until(t, 5*time.Second, "left", func() bool {
			return watcher.sees("search-1").Liveness == rollcallv1.Liveness_LIVENESS_LEFT
		})

		dead := r.members[2].address // falls silent
		r.network.set(func() {
			r.network.split = func(a, b netip.AddrPort) bool { return a == dead || b == dead }
		})
		took := until(t, 30*time.Second, "dead", func() bool {
			return watcher.sees("search-2").Liveness == rollcallv1.Liveness_LIVENESS_DEAD
		})
		t.Logf("a silent member of 5 is dead after %v", took)
		require.Equal(t, 3, watcher.alive())
	})
}

// TestGoodByeIsShort checks that an agent that ends does not keep its pod, and that the others know
// all the same that it has left.
func TestGoodByeIsShort(t *testing.T) {
	for _, size := range []int{2, 3, 9} {
		for stops, most := range map[bool]time.Duration{false: 500 * time.Millisecond, true: 250 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				r := newRing(t, newNetwork(5))
				defer r.stop()
				for i := range size {
					r.add(i)
				}
				until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == size }))
				goes := r.members[1]
				if stops {
					goes.headline.Phase = rollcallv1.Phase_PHASE_STOPPING
					require.NoError(t, goes.Publish(goes.headline))
				}
				time.Sleep(5 * time.Second)
				began := time.Now()
				goes.stop()
				<-goes.ended
				require.LessOrEqual(t, time.Since(began), most)
				r.members = slices.Delete(r.members, 1, 2)
				until(t, time.Second, "left", r.everybody(func(m *member) bool {
					return m.sees("search-1").Liveness == rollcallv1.Liveness_LIVENESS_LEFT
				}))
			})
		}
	}
}

// TestRecreatedPodIsANewMember checks that a pod name may come back with another UID and address
// just after the earlier pod fell silent.
func TestRecreatedPodIsANewMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(4))
		defer r.stop()
		for i := range 4 {
			r.add(i)
		}
		until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 4 }))
		r.members[3].stop()
		r.members = r.members[:3]
		r.add(9, func(o *Options) { o.Pod, o.PodUID = "search-3", "uid-3b" })
		r.members[3].headline.Pod = "search-3"
		until(t, 10*time.Second, "the new one", func() bool {
			e := r.members[0].sees("search-3")
			return e.Headline.PodUid == "uid-3b" && e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE
		})
	})
}

// TestRestartedAgentIsBelieved checks that a restarted agent in the same pod is believed, although
// it says something else under the same name.
func TestRestartedAgentIsBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(5))
		defer r.stop()
		for i := range 3 {
			r.add(i)
		}
		until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 3 }))
		old := r.members[2]
		for range 20 { // its number in the gossip is high now
			old.say(func(h *rollcallv1.Headline) { h.Epoch++ })
			time.Sleep(100 * time.Millisecond)
		}
		old.stop()
		time.Sleep(3 * time.Second)
		r.members = r.members[:2]
		again := r.add(2)
		again.say(func(h *rollcallv1.Headline) { h.Incarnation = 99 })
		until(t, 5*time.Second, "the new agent's word", r.everybody(func(m *member) bool {
			e := m.sees("search-2")
			return e != nil && e.Headline.Incarnation == 99 && e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE
		}))
	})
}

func TestPartitionHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(6))
		defer r.stop()
		for i := range 12 {
			r.add(i)
		}
		until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 12 }))
		half := func(a netip.AddrPort) bool { return a.Addr().As4()[3] <= 6 }
		r.network.set(func() { r.network.split = func(a, b netip.AddrPort) bool { return half(a) != half(b) } })
		until(t, 2*time.Minute, "both halves alone", r.everybody(func(m *member) bool { return m.alive() == 6 }))
		time.Sleep(3 * time.Minute) // long past the time in which memberlist itself would look
		r.network.set(func() { r.network.split = func(a, b netip.AddrPort) bool { return false } })
		took := until(t, 2*time.Minute, "one again", r.everybody(func(m *member) bool { return m.alive() == 12 }))
		t.Logf("three minutes of partition of 12 healed after %v", took)
	})
}

// TestNothingIsPassedOnToTheDead checks that after a split nothing is sent to the other half once
// it counts as dead, because half of all news would be lost there.
func TestNothingIsPassedOnToTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(6))
		defer r.stop()
		for i := range 12 {
			r.add(i)
		}
		until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 12 }))
		half := func(a netip.AddrPort) bool { return a.Addr().As4()[3] <= 6 }
		crossed := 0
		r.network.set(func() {
			r.network.split = func(a, b netip.AddrPort) bool {
				if half(a) != half(b) {
					crossed++
				}
				return half(a) != half(b)
			}
		})
		until(t, 2*time.Minute, "both halves alone", r.everybody(func(m *member) bool { return m.alive() == 6 }))
		r.members[0].tells()
		time.Sleep(time.Second)
		before := 0
		r.network.set(func() { before = crossed })
		for i := range 5 {
			r.members[i].tells()
			r.members[6+i].tells()
			time.Sleep(time.Second)
		}
		r.network.set(func() { require.Less(t, crossed-before, 50, "but what looks for lost peers") })
	})
}

func TestAloneAndUnresolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(9))
		defer r.stop()
		alone := r.add(0, func(o *Options) {
			o.Peers = func(context.Context) ([]netip.AddrPort, error) { return []netip.AddrPort{address(0)}, nil }
		})
		lost := r.add(1, func(o *Options) {
			o.Peers = func(context.Context) ([]netip.AddrPort, error) { return nil, errors.New("no such host") }
		})
		early := r.add(2, func(o *Options) {
			o.Peers = func(context.Context) ([]netip.AddrPort, error) { return nil, nil }
		})
		r.network.set(func() { r.network.split = func(a, b netip.AddrPort) bool { return true } })
		time.Sleep(10 * time.Second)
		for m, synced := range map[*member]bool{alone: true, lost: false, early: false} {
			roster, _ := m.Roster()
			require.Equal(t, synced, roster.Synced, roster.Entries[0].Headline.Pod)
			require.Equal(t, 1, roster.Alive())
		}
	})
}

func TestOptions(t *testing.T) {
	good := Options{
		Namespace: "n", Cluster: "c", ClusterUID: "u", Pod: "p", PodUID: "pu",
		Address: netip.MustParseAddrPort("[fd00::1]:7946"), Keys: [][]byte{testKey},
		Peers: func(context.Context) ([]netip.AddrPort, error) { return nil, nil },
	}
	_, err := New(good)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no key":       {func(o *Options) { o.Keys = nil }, "gossip key is required"},
		"short key":    {func(o *Options) { o.Keys = [][]byte{{1, 2}} }, "2 bytes; it must have 32"},
		"key and open": {func(o *Options) { o.Insecure = true }, "gossip keys must not be set"},
		"unspecified":  {func(o *Options) { o.Address = netip.MustParseAddrPort("0.0.0.0:7946") }, "pod's own"},
		"no uid":       {func(o *Options) { o.ClusterUID = "" }, "cluster UID"},
		"no pod":       {func(o *Options) { o.PodUID = "" }, "pod UID"},
		"no peers":     {func(o *Options) { o.Peers = nil }, "no peer discovery"},
	} {
		o := good
		c.change(&o)
		_, err := New(o)
		require.ErrorContains(t, err, c.want, name)
	}
}
