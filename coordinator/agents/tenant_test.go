package agents

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

// tenant has many DatabaseClusters in one namespace, each with an agent of his own that says a report of so many groups.
func (h *harness) tenant(clusters, groups int) {
	for i := range clusters {
		key := Key{Namespace: "tenant", Name: fmt.Sprint("c", i)}
		to := Target{Pod: fmt.Sprint("p-", i), UID: fmt.Sprint("t", i), IP: fmt.Sprint("10.9.0.", i+1)}
		f := newFakeAgent(to.Pod, to.UID)
		f.report.Identity = proto.CloneOf(f.report.GetIdentity())
		f.report.Identity.Namespace, f.report.Identity.Cluster = key.Namespace, key.Name
		f.roster.Identity = f.report.GetIdentity()
		f.say(func(r *rollcallv1.Report) { largeReport(r, groups, fmt.Sprint("t", i)) })
		h.serve(to.IP, key, f)
		h.Follow(key, following(to))
	}
}

// Who makes many small databases takes no reports from the large one of another.
func TestManyDatabasesOfOneTenantHaveOneShare(t *testing.T) {
	h := start(t, func(o *Options) { o.MaxHeld = 4 << 20 })
	h.tenant(15, 320)
	eventually(t, func() bool { return h.heldNow() > 14*200<<10 })
	good := goodAgent()
	good.say(func(r *rollcallv1.Report) { largeReport(r, 2000, "o") })
	h.serve(other.IP, orders, good)
	h.Follow(orders, following(other))
	eventually(t, func() bool {
		s := h.State(orders)
		return len(s.Reports["v0"].Report.GetGroups()) == 2000 || len(s.Refused) > 0
	})
	require.Empty(t, h.State(orders).Refused)
}

// trickling sends slowly what is large, and yet in time.
type trickling struct {
	net.Conn
	sent int
}

func (c *trickling) Write(p []byte) (int, error) {
	const each = 100 << 10
	if before := c.sent; before/each != (before+len(p))/each {
		time.Sleep(3 * time.Second)
	}
	c.sent += len(p)
	return c.Conn.Write(p)
}

type tricklingPipe struct{ pipe }

func (l tricklingPipe) Accept() (net.Conn, error) {
	conn, err := l.pipe.Accept()
	if err != nil {
		return nil, err
	}
	return &trickling{Conn: conn}, nil
}

// Large reports that come slowly, each within its time, of 40 databases; that of another database
// comes through.
func TestManyDatabasesOfOneTenantTakeNotAllTurns(t *testing.T) {
	race.Heavy(t)
	synctest.Test(t, func(t *testing.T) {
		h := start(t, nil)
		h.trickle = true
		h.tenant(40, 800)
		h.trickle = false
		stop := make(chan struct{})
		go func() { // they have news all the time
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
				}
				h.mu.Lock()
				fakes := h.fakes
				h.mu.Unlock()
				for _, f := range fakes {
					f.say(func(*rollcallv1.Report) {})
				}
			}
		}()
		time.Sleep(30 * time.Second)
		good := goodAgent()
		good.say(func(r *rollcallv1.Report) { largeReport(r, 2000, "o") })
		h.serve(other.IP, orders, good)
		h.Follow(orders, following(other))
		begun, heard := time.Now(), 0
		var got *rollcallv1.Report
		for time.Since(begun) < 4*time.Minute {
			time.Sleep(time.Second)
			good.say(func(*rollcallv1.Report) {})
			if r := h.State(orders).Reports["v0"].Report; r != got {
				got = r
				heard++
			}
		}
		t.Log("heard", heard, "in 240 s")
		problems := h.State(orders).Problems
		close(stop)
		for i := range 40 {
			h.Forget(Key{Namespace: "tenant", Name: fmt.Sprint("c", i)})
		}
		h.Forget(orders)
		time.Sleep(time.Minute)
		require.Greater(t, heard, 100, "%v", problems)
	})
}

// TestOneTenantHasAllTurns where there is no other namespace; else the last two are for those that have fewer.
func TestOneTenantHasAllTurns(t *testing.T) {
	turns := newTurns()
	take := func(namespace string) bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return turns.take(ctx, namespace)
	}
	turns.follow("one", 40)
	for range largeInAll {
		require.True(t, take("one"))
	}
	require.False(t, take("one"))
	turns.follow("other", 1)
	waits := make(chan bool)
	go func() { waits <- turns.take(t.Context(), "one") }()
	require.Eventually(t, func() bool { turns.mu.Lock(); defer turns.mu.Unlock(); return len(turns.waiting) == 1 }, time.Second, time.Millisecond)
	turns.leave("one")
	require.True(t, take("other"), "who has fewer goes first")
	for range 2 {
		turns.leave("one")
		require.False(t, take("one"))
	}
	turns.leave("one")
	require.True(t, <-waits)
	turns.follow("other", -1)
	require.True(t, take("one"), "it is alone again")
}

// An agent whose large report waits for its turn is not called silent.
func TestTurnsAreWaitedForInPeace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, nil)
		for i := range largeInAll {
			require.True(t, h.large.take(t.Context(), fmt.Sprint("tenant-", i/largePerNamespace)))
		}
		good := goodAgent()
		good.say(func(r *rollcallv1.Report) { largeReport(r, 2000, "o") })
		h.serve(other.IP, orders, good)
		h.Follow(orders, following(other))
		time.Sleep(2 * h.opts.Silence)
		require.Empty(t, h.State(orders).Problems)
		h.large.leave("tenant-0")
		time.Sleep(time.Second)
		require.Len(t, h.State(orders).Reports["v0"].Report.GetGroups(), 2000)
		h.Forget(orders)
		time.Sleep(time.Minute)
	})
}

// TestManyNamespacesHoldNoMoreThanTwice what there is; a namespace of many has what the others do not need.
func TestManyNamespacesHoldNoMoreThanTwice(t *testing.T) {
	a, err := New(Options{Plaintext: true, MaxHeld: 1200})
	require.NoError(t, err)
	all := map[string]*cluster{}
	for _, name := range []string{"one", "two", "three"} {
		key := Key{Namespace: "prod", Name: name}
		a.Follow(key, Following{})
		all[name] = a.clusters[key]
	}
	hold := func(name string, bytes int) bool {
		a.held += bytes - all[name].ledger.bytes
		all[name].ledger.bytes = bytes
		return a.mayHold(all[name])
	}
	require.True(t, hold("one", 1200), "nobody else needs it")
	require.True(t, hold("two", 400), "an equal share, as there is one namespace")
	require.False(t, hold("two", 401))
	hold("two", 0)
	key := Key{Namespace: "dev", Name: "db"}
	a.Follow(key, Following{})
	all["dev"] = a.clusters[key]
	require.True(t, hold("dev", 600), "the share of its namespace")
	require.False(t, hold("dev", 601))
	require.True(t, hold("two", 200))
	require.True(t, hold("two", 300), "an equal share of all databases, as nobody needs it")
	require.False(t, hold("two", 301))
	require.True(t, hold("two", 300))
	require.False(t, hold("three", 300), "2400 are twice what there is")
	require.True(t, hold("three", 200))
}
