package agents

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
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

// TestManyDatabasesOfOneTenantHaveOneShare: who makes many small databases takes no reports from the large one of another.
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

// TestManyDatabasesOfOneTenantTakeNotAllTurns: large reports that come slowly, each within its time, of 40 databases; that of
// another database comes through.
func TestManyDatabasesOfOneTenantTakeNotAllTurns(t *testing.T) {
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
