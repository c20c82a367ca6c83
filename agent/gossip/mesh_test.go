package gossip

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

var testKey = bytes.Repeat([]byte{7}, 32)

// ring is members of one or more clusters on one network.
type ring struct {
	t       *testing.T
	network *network
	members []*member
	tasks   sync.WaitGroup
}

type member struct {
	*Mesh
	address  netip.AddrPort
	headline *rollcallv1.Headline
	stop     context.CancelFunc
}

func newRing(t *testing.T, network *network) *ring {
	r := &ring{t: t, network: network}
	return r
}

func address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i / 250), byte(1 + i%250)}), 7946)
}

func (r *ring) add(i int, change ...func(*Options)) *member {
	at := address(i)
	o := Options{
		Namespace: "prod", Cluster: "search", ClusterUID: "c-uid",
		Pod: fmt.Sprintf("search-%d", i), PodUID: fmt.Sprintf("uid-%d", i),
		Address: at, Keys: [][]byte{testKey},
		Peers:     func(context.Context) ([]netip.AddrPort, error) { return r.network.addresses(), nil },
		Transport: r.network.transport(at),
	}
	for _, c := range change {
		c(&o)
	}
	mesh, err := New(o)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	m := &member{Mesh: mesh, address: at, stop: cancel, headline: &rollcallv1.Headline{
		Pod: o.Pod, PodUid: o.PodUID, Member: rollcallv1.Membership_MEMBERSHIP_LIVE,
		Address: "10.0.0.1:7947", Node: o.Pod + ":8983_solr", Zone: "z1", Digest: 0xfeedfeedfeed,
	}}
	require.NoError(r.t, mesh.Publish(m.headline))
	r.members = append(r.members, m)
	r.tasks.Go(func() {
		if err := mesh.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	return m
}

func (r *ring) stop() {
	for _, m := range r.members {
		m.stop()
	}
	r.tasks.Wait()
	// memberlist's own goroutines may be in the middle of an exchange; none lasts
	// longer than its timeouts.
	time.Sleep(time.Minute)
	synctest.Wait()
}

// say changes what a member tells of itself.
func (m *member) say(change func(*rollcallv1.Headline)) {
	change(m.headline)
	m.headline.Sequence++
	if err := m.Publish(m.headline); err != nil {
		panic(err)
	}
}

// sees answers how another pod looks from here, nil when unknown.
func (m *member) sees(pod string) *Entry {
	m.table.mu.Lock()
	defer m.table.mu.Unlock()
	for _, e := range m.table.entries {
		if e.Headline.Pod == pod {
			return &e
		}
	}
	return nil
}

func (m *member) alive() int { return m.table.alive() }

// until waits in steps of 50 ms of virtual time and answers how long it took.
func until(t *testing.T, limit time.Duration, what string, done func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !done() {
		require.Less(t, time.Since(start), limit, "%s: not within %v", what, limit)
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(start)
}

func (r *ring) everybody(sees func(*member) bool) func() bool {
	return func() bool { return r.count(sees) == len(r.members) }
}

func (r *ring) count(sees func(*member) bool) int {
	n := 0
	for _, m := range r.members {
		if sees(m) {
			n++
		}
	}
	return n
}

func TestFiftyJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(1))
		defer r.stop()
		for i := range 50 {
			r.add(i)
		}
		took := until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 50 }))
		t.Logf("cold start of 50, all at once: %v", took)
		for _, m := range r.members {
			roster, _ := m.Roster()
			require.True(t, roster.Synced)
		}
	})
}

func TestBadNewsSpreads(t *testing.T) {
	for _, loss := range []float64{0, 0.1} {
		t.Run(fmt.Sprintf("loss %v", loss), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(2)
				n.loss = loss
				r := newRing(t, n)
				defer r.stop()
				for i := range 50 {
					r.add(i)
				}
				until(t, time.Minute, "all see all", r.everybody(func(m *member) bool { return m.alive() == 50 }))
				time.Sleep(30 * time.Second)

				bad := r.members[17]
				bad.say(func(h *rollcallv1.Headline) { h.Member = rollcallv1.Membership_MEMBERSHIP_NOT_LIVE })
				took := until(t, 3*time.Second, "all know", r.everybody(func(m *member) bool {
					return m.sees("search-17").Headline.Member == rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
				}))
				t.Logf("bad news to all of 50 with loss %v: %v", loss, took)
			})
		})
	}
}

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

// The same pod name comes back with another UID and address while its predecessor
// has only just fallen silent.
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

// An agent that restarts in the same pod says something else under the same name.
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

func TestStrangersStayOut(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"other key":         func(o *Options) { o.Keys = [][]byte{bytes.Repeat([]byte{8}, 32)} },
		"no key":            func(o *Options) { o.Keys, o.Insecure = nil, true },
		"other cluster UID": func(o *Options) { o.ClusterUID = "other" },
		"other namespace":   func(o *Options) { o.Namespace = "test" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRing(t, newNetwork(7))
				defer r.stop()
				for i := range 3 {
					r.add(i)
				}
				until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 3 }))
				stranger := r.add(3, change)
				time.Sleep(time.Minute)
				require.Equal(t, 1, stranger.alive())
				for _, m := range r.members[:3] {
					require.Equal(t, 3, m.alive())
				}
			})
		})
	}
}

func TestRekeyWithoutAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(8))
		defer r.stop()
		for i := range 6 {
			r.add(i)
		}
		until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 6 }))
		next := bytes.Repeat([]byte{9}, 32)
		for _, keys := range [][][]byte{{testKey, next}, {next, testKey}, {next}} {
			for _, m := range r.members { // not all at once, as Secrets arrive
				require.NoError(t, m.Rekey(keys))
				time.Sleep(20 * time.Second)
				require.Equal(t, 6, m.alive())
			}
		}
		late := r.add(6)
		time.Sleep(time.Minute)
		require.Equal(t, 1, late.alive(), "the old key is worth nothing any more")
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
			o.Peers = func(context.Context) ([]netip.AddrPort, error) { return nil, fmt.Errorf("no such host") }
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

func TestIdleTraffic(t *testing.T) {
	for _, size := range []int{3, 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(10)
				r := newRing(t, n)
				defer r.stop()
				for i := range size {
					r.add(i)
				}
				until(t, time.Minute, "all see all", r.everybody(func(m *member) bool { return m.alive() == size }))
				time.Sleep(time.Minute)
				before := n.bytes.Load()
				const span = 2 * time.Minute
				time.Sleep(span)
				rate := float64(n.bytes.Load()-before) / span.Seconds() / float64(size)
				t.Logf("idle gossip of %d members: %.0f bytes/s sent by each", size, rate)
			})
		})
	}
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
		"key and open": {func(o *Options) { o.Insecure = true }, "gossip key is required"},
		"unspecified":  {func(o *Options) { o.Address = netip.MustParseAddrPort("0.0.0.0:7946") }, "pod's own"},
		"no uid":       {func(o *Options) { o.ClusterUID = "" }, "cluster UID"},
		"no pod":       {func(o *Options) { o.PodUID = "" }, "pod UID"},
		"no peers":     {func(o *Options) { o.Peers = nil }, "peers"},
	} {
		o := good
		c.change(&o)
		_, err := New(o)
		require.ErrorContains(t, err, c.want, name)
	}
}
