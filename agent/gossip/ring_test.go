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
	transport *transport
	address   netip.AddrPort
	headline  *rollcallv1.Headline
	stop      context.CancelFunc
	ended     chan struct{}
}

func newRing(t *testing.T, network *network) *ring { return &ring{t: t, network: network} }

// uid is as long as those of Kubernetes are: names and label go with every packet.
func uid(i int) string { return fmt.Sprintf("3f1c9e0a-52a4-4f0e-9d59-6f3a4c1f%04d", i) }

func address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i / 250), byte(1 + i%250)}), 7946)
}

func (r *ring) add(i int, change ...func(*Options)) *member {
	at := address(i)
	transport := r.network.transport(at)
	o := Options{
		Namespace: "prod", Cluster: "search", ClusterUID: "b27e5a0e-84f5-4d3b-8b0a-0d1d7c5c9e11",
		Pod: fmt.Sprintf("search-%d", i), PodUID: uid(i),
		Address: at, Keys: [][]byte{testKey},
		Peers:     func(context.Context) ([]netip.AddrPort, error) { return r.network.addresses(), nil },
		Transport: transport,
	}
	for _, c := range change {
		c(&o)
	}
	mesh, err := New(o)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	m := &member{Mesh: mesh, transport: transport, address: at, stop: cancel, ended: make(chan struct{}), headline: &rollcallv1.Headline{
		Pod: o.Pod, PodUid: o.PodUID, Member: rollcallv1.Membership_MEMBERSHIP_LIVE,
		Address: netip.AddrPortFrom(at.Addr(), 7947).String(), Node: o.Pod + ".search.prod:8983_solr", Zone: "z1", Digest: 0xfeedfeedfeedfeed,
	}}
	require.NoError(r.t, mesh.Publish(m.headline))
	r.members = append(r.members, m)
	r.tasks.Go(func() {
		defer close(m.ended)
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

// crash removes a member from the network without notice.
func (m *member) crash() {
	m.transport.unplug()
	m.stop()
}

// say changes what a member says of itself.
func (m *member) say(change func(*rollcallv1.Headline)) {
	change(m.headline)
	m.headline.Sequence++
	if err := m.Publish(m.headline); err != nil {
		panic(err)
	}
}

// sees returns how another pod looks from here, nil when unknown.
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

// until waits in steps of 20 ms of virtual time and returns how long it took.
func until(t *testing.T, limit time.Duration, what string, done func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !done() {
		require.Less(t, time.Since(start), limit, "%s: not within %v", what, limit)
		time.Sleep(20 * time.Millisecond)
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

// knownTo reports whether a member has at least this sequence of m.
func (m *member) knownTo(sequence uint64) func(*member) bool {
	name := m.delegate.self
	return func(other *member) bool {
		other.table.mu.Lock()
		defer other.table.mu.Unlock()
		return other.table.entries[name].Headline.GetSequence() >= sequence
	}
}
