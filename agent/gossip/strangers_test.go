package gossip

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/locked"
)

// strangers are the ways in which a member can be a stranger.
var strangers = map[string]struct {
	change func(*Options)
	reason reason // with which our members count it
}{
	"other key":         {func(o *Options) { o.Keys = [][]byte{bytes.Repeat([]byte{8}, 32)} }, reasonKey},
	"no key":            {func(o *Options) { o.Keys, o.Insecure = nil, true }, reasonKey},
	"other cluster UID": {func(o *Options) { o.ClusterUID = "other" }, reasonLabel},
	"other namespace":   {func(o *Options) { o.Namespace = "test" }, reasonLabel},
	"both":              {func(o *Options) { o.Namespace, o.Keys = "test", [][]byte{bytes.Repeat([]byte{8}, 32)} }, reasonLabel},
}

func (m *member) rejected(why reason) float64 {
	return testutil.ToFloat64(m.options.Metrics.rejected.WithLabelValues(string(why)))
}

func TestStrangersStayOut(t *testing.T) {
	for name, c := range strangers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRing(t, newNetwork(7))
				defer r.stop()
				for i := range 3 {
					r.add(i)
				}
				until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 3 }))
				stranger := r.add(3, c.change)
				time.Sleep(time.Minute)
				require.Equal(t, 1, stranger.alive())
				counted := 0.0
				for _, m := range r.members[:3] {
					require.Equal(t, 3, m.alive())
					counted += m.rejected(c.reason)
				}
				require.Positive(t, counted)
			})
		})
	}
}

// TestMembersOfOtherNetworksStayOut checks that a member outside the allowed networks stays out
// even with all keys.
func TestMembersOfOtherNetworksStayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(7))
		defer r.stop()
		for i := range 3 {
			r.add(i, func(o *Options) { o.Allowed = func(ip netip.Addr) bool { return ip != address(3).Addr() } })
		}
		until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 3 }))
		r.add(3)
		time.Sleep(time.Minute)
		counted := 0.0
		for _, m := range r.members[:3] {
			require.Equal(t, 3, m.alive())
			counted += m.rejected(reasonAddress)
		}
		require.Positive(t, counted)
	})
}

// TestMembersOfNewNetworksJoin checks that a pod on a new node, in a network that is unknown while
// the coordinator is unavailable, joins as fast as any other.
func TestMembersOfNewNetworksJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(7))
		defer r.stop()
		near := func(o *Options) { o.Near = func(ip netip.Addr) bool { return ip != address(3).Addr() } }
		for i := range 3 {
			r.add(i, near)
		}
		until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 3 }))
		r.add(3, near)
		until(t, 20*time.Second, "all see the new one", r.everybody(func(m *member) bool { return m.alive() == 4 }))
	})
}

// TestReusedAddress lets two clusters trade addresses: a member of each dies, and
// a new one of the other comes up where it was, known to everybody's name service.
func TestReusedAddress(t *testing.T) {
	const size = 4
	for name, c := range strangers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRing(t, newNetwork(12))
				defer r.stop()
				logs := make([]locked.Buffer, 4*size)
				// Ours begin at 0, theirs at 100; old addresses stay in the name service.
				var names []netip.AddrPort
				join := func(at, pod int, change func(*Options)) *member {
					r.network.set(func() { names = append(names, address(at)) })
					return r.add(at, func(o *Options) {
						o.Pod, o.PodUID = fmt.Sprintf("search-%d", pod), uid(pod)
						o.Logger = slog.New(slog.NewTextHandler(&logs[len(r.members)], nil))
						o.Peers = func(context.Context) (all []netip.AddrPort, err error) {
							r.network.set(func() { all = slices.Clone(names) })
							return all, nil
						}
						change(o)
					})
				}
				ours, theirs := func(*Options) {}, c.change
				var a, b []*member
				for i := range size {
					a, b = append(a, join(i, i, ours)), append(b, join(100+i, 100+i, theirs))
				}
				apart := func(n int) func() bool {
					return func() bool {
						for _, m := range append(a[:n:n], b[:n]...) {
							if m.alive() != size {
								return false
							}
						}
						return true
					}
				}
				until(t, time.Minute, "two clusters", apart(size))

				a[size-1].crash()
				b[size-1].crash()
				a[size-1], b[size-1] = join(100+size-1, size, ours), join(size-1, 100+size, theirs)
				until(t, time.Minute, "two clusters with a new member each", apart(size))
				time.Sleep(3 * time.Minute)
				require.True(t, apart(size)())
				for i := range size {
					for pod := range 101 + size {
						e := a[i].sees(fmt.Sprintf("search-%d", pod))
						require.Equal(t, pod <= size, e != nil, "ours see pod %d", pod)
						e = b[i].sees(fmt.Sprintf("search-%d", pod))
						require.Equal(t, pod >= 100, e != nil, "theirs see pod %d", pod)
					}
				}
				require.Greater(t, a[0].rejected(c.reason), 1.0, "counted each time")
				for i := range r.members {
					require.LessOrEqual(t, strings.Count(logs[i].String(), "stranger"), 1, "logged once: %s", &logs[i])
				}
				require.Contains(t, logs[0].String(), "reason="+string(c.reason))
			})
		})
	}
}

// An unlabelled member has the key, and still is not let in.
func TestUnlabelledIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, newNetwork(13))
		defer r.stop()
		ours := []*member{r.add(0), r.add(1)}
		until(t, 20*time.Second, "all see all", r.everybody(func(m *member) bool { return m.alive() == 2 }))

		c := memberlist.DefaultLANConfig()
		c.Name, c.SecretKey = "search-9/unlabelled", testKey
		c.Transport = r.network.transport(address(9))
		c.Logger = log.New(io.Discard, "", 0)
		stranger, err := memberlist.Create(c)
		require.NoError(t, err)
		for _, m := range ours {
			_, err = stranger.Join([]string{m.address.String()})
			require.Error(t, err)
			require.Positive(t, m.rejected(reasonLabel))
			// Packets too, as after an address was reused.
			before := m.rejected(reasonLabel)
			require.NoError(t, stranger.SendBestEffort(&memberlist.Node{Addr: m.address.Addr().AsSlice(), Port: m.address.Port()}, []byte("x")))
			time.Sleep(time.Second)
			require.Greater(t, m.rejected(reasonLabel), before)
			require.Equal(t, 2, m.alive())
		}
		require.Equal(t, 1, stranger.NumMembers())
		require.NoError(t, stranger.Shutdown())
	})
}

// TestRefusalsAreLoggedOnce checks that overload is logged once, separately from strangers.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	var out bytes.Buffer
	metrics := NewMetrics(nil)
	l := newLog(slog.New(slog.NewTextHandler(&out, nil)), metrics)
	for range 100 {
		l.refused(reasonStreams, []byte("from 10.0.0.9"))
	}
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	require.Contains(t, out.String(), "reason=streams")
	require.Contains(t, out.String(), "10.0.0.9")
	require.EqualValues(t, 100, testutil.ToFloat64(metrics.refused.WithLabelValues(string(reasonStreams))))
}

// TestStrangersAreLoggedOnce checks that what a stranger sends is counted by the check that refused
// it, whatever it looks like.
func TestStrangersAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		metrics := NewMetrics(nil)
		l := newLog(slog.New(slog.NewTextHandler(&out, nil)), metrics).lines()
		say := func() {
			l.Printf("[ERR] memberlist: discarding packet with unacceptable label %q: from=10.0.0.9:7946", "Decrypt packet failed")
		}
		for range 3 {
			say()
			time.Sleep(strangerQuiet)
		}
		require.Equal(t, 1, strings.Count(out.String(), "stranger"))
		require.Contains(t, out.String(), "from=10.0.0.9:7946")
		require.NotContains(t, out.String(), "memberlist:")
		time.Sleep(time.Second)
		say()
		require.Equal(t, 2, strings.Count(out.String(), "stranger"), "another time")
		require.EqualValues(t, 4, testutil.ToFloat64(metrics.rejected.WithLabelValues(string(reasonLabel))))
		require.Zero(t, testutil.ToFloat64(metrics.rejected.WithLabelValues(string(reasonKey))))
	})
}
