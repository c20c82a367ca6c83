package agents

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // as the exporter of traces links it
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/coordinator/agents/wire"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// raw is a message that goes as these bytes.
type raw []byte

type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// hostile is an agent that sends what it likes.
type hostile struct {
	*fakeAgent
	reports, roster raw
	endless         bool // it sends reports that are good, one behind the other
	sent            atomic.Int64
	compress        bool
}

func (h *hostile) WatchReport(r *rollcallv1.WatchReportRequest, stream grpc.ServerStreamingServer[rollcallv1.Report]) error {
	if h.compress {
		if err := grpc.SetSendCompressor(stream.Context(), "gzip"); err != nil {
			return err
		}
	}
	for h.reports != nil || h.endless {
		var message any = h.reports
		if h.endless {
			h.say(func(r *rollcallv1.Report) { r.VerdictReason = strings.Repeat("x", 512) })
			message, _ = h.GetReport(stream.Context(), &rollcallv1.GetReportRequest{})
		}
		if err := stream.SendMsg(message); err != nil {
			return err
		}
		h.sent.Add(1)
	}
	return h.fakeAgent.WatchReport(r, stream)
}

func (h *hostile) WatchRoster(r *rollcallv1.WatchRosterRequest, stream grpc.ServerStreamingServer[rollcallv1.Roster]) error {
	if h.roster != nil {
		if err := stream.SendMsg(h.roster); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	return h.fakeAgent.WatchRoster(r, stream)
}

// hollow are n empty fields with a number, of two or three bytes each.
func hollow(number protowire.Number, n int) raw {
	return bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), nil), n)
}

var (
	orders = Key{Namespace: "shop", Name: "orders"}
	other  = Target{Pod: "orders-0", UID: "v0", IP: "10.0.1.1", Zone: "z1"}
)

// goodAgent is that of another database.
func goodAgent() *fakeAgent {
	f := newFakeAgent(other.Pod, other.UID)
	f.report.Identity = proto.CloneOf(f.report.GetIdentity())
	f.report.Identity.Namespace, f.report.Identity.Cluster = orders.Namespace, orders.Name
	f.roster.Identity = f.report.GetIdentity()
	return f
}

// One message of a megabyte, which would be 60 in memory, and one of eight.
func TestMessagesThatWouldGrowAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		bad    *hostile
		reason wire.Reason
	}{
		"a roster of empty entries":    {&hostile{roster: hollow(2, wire.MaxRoster/2-1)}, wire.Count},
		"a few thousand empty entries": {&hostile{roster: hollow(2, 2048)}, wire.Hollow},
		"a roster of eight megabytes":  {&hostile{roster: hollow(2, 4<<20)}, wire.Size},
		"a report of empty groups":     {&hostile{reports: hollow(24, 2<<20)}, wire.Count},
		"a report larger than any":     {&hostile{reports: hollow(24, 4<<20)}, wire.Size},
		"a report that is no message":  {&hostile{reports: raw{0xff}}, wire.Malformed},
		"a report of many empty ages":  {&hostile{reports: hollow(3, 100_000)}, wire.Hollow},
	} {
		t.Run(name, func(t *testing.T) {
			var log safeBuffer
			h := start(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			good := goodAgent()
			h.serve(other.IP, orders, good)
			h.Follow(orders, following(other))
			eventually(t, func() bool { return h.State(orders).Reports["v0"].Report != nil })

			c.bad.fakeAgent = newFakeAgent("search-0", "u0")
			h.serve(zero.IP, search, c.bad)
			before := allocated()
			h.Follow(search, following(zero))
			count := func() float64 { return testutil.ToFloat64(h.refused.WithLabelValues(string(c.reason))) }
			eventually(t, func() bool { return count() > 0 })
			took := allocated() - before
			require.Less(t, took, uint64(48<<20), "the test's own server and buffers of gRPC are in it")
			require.Contains(t, h.State(search).Refused["u0"], string(c.reason))
			if c.bad.reports != nil {
				require.Empty(t, h.State(search).Reports)
			}
			eventually(t, func() bool { return strings.Contains(h.State(search).Problems["u0"], "refused") })

			// It goes on, and the other database does not notice.
			eventually(t, func() bool { return count() > 2 })
			require.Equal(t, 1, strings.Count(log.String(), "a message of an agent is refused"), log.String())
			good.say(func(r *rollcallv1.Report) { r.Epoch = 7 })
			eventually(t, func() bool { return h.State(orders).Epoch() == 7 })
			require.Empty(t, h.State(orders).Refused)
		})
	}
}

// GRPC would make 8 MiB of a few kilobytes before anybody looks.
func TestCompressedMessagesAreRefused(t *testing.T) {
	h := start(t, nil)
	h.serve(zero.IP, search, &hostile{fakeAgent: newFakeAgent("search-0", "u0"), reports: hollow(24, 2<<20), compress: true})
	h.Follow(search, following(zero))
	eventually(t, func() bool { return h.State(search).Refused["u0"] != "" })
	require.Contains(t, h.State(search).Refused["u0"], "it is compressed")
}

func TestARefusedReportTakesTheOneBeforeAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, nil)
		f := newFakeAgent("search-0", "u0")
		h.serve(zero.IP, search, f)
		h.Follow(search, following(zero))
		time.Sleep(time.Second)
		require.NotNil(t, h.State(search).Reports["u0"].Report)
		f.say(func(r *rollcallv1.Report) { r.Roles = make([]string, 1000) })
		time.Sleep(time.Second)
		require.NotEmpty(t, h.State(search).Refused)
		require.Empty(t, h.State(search).Reports)
		require.Less(t, h.heldNow(), 1<<10, "nor is it counted")
	})
}

// An agent that has come to its senses is heard again.
func TestWhatIsGoodAgainIsTaken(t *testing.T) {
	h := start(t, nil)
	stop := h.serve(zero.IP, search, &hostile{fakeAgent: newFakeAgent("search-0", "u0"), reports: raw{0xff}})
	h.Follow(search, following(zero))
	eventually(t, func() bool { return h.State(search).Refused["u0"] != "" })
	stop()
	h.serve(zero.IP, search, newFakeAgent("search-0", "u0"))
	eventually(t, func() bool { return h.State(search).Reports["u0"].Report != nil && h.State(search).Refused == nil })
}

// What is more than there can be to say is left with its sender.
func TestWhoSendsTooMuchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, nil)
		bad := &hostile{fakeAgent: newFakeAgent("search-0", "u0"), endless: true}
		h.serve(zero.IP, search, bad)
		h.Follow(search, following(zero))
		time.Sleep(12 * time.Second)
		taken := h.State(search).Reports["u0"].Report.GetSequence()
		require.Greater(t, taken, uint64(messagesAtOnce), "it is heard")
		require.LessOrEqual(t, taken, uint64(messagesAtOnce+12*messagesPerSecond+2))
		// What fits into windows and buffers is under way; then it is not asked for more.
		under := bad.sent.Load()
		time.Sleep(12 * time.Second)
		require.LessOrEqual(t, bad.sent.Load()-under, int64(12*messagesPerSecond+100))
		require.Empty(t, h.State(search).Problems)
		require.Greater(t, testutil.ToFloat64(h.delayed), float64(20*messagesPerSecond), "they are counted")
		h.Forget(search)
	})
}

// stalling is a listener whose connections stop in the midst of what they send.
type stalling struct {
	pipe
	after int
}

func (l stalling) Accept() (net.Conn, error) {
	conn, err := l.pipe.Accept()
	if err != nil {
		return nil, err
	}
	return &stalled{Conn: conn, left: l.after, closed: make(chan struct{})}, nil
}

type stalled struct {
	net.Conn
	left   int
	once   sync.Once
	closed chan struct{}
}

func (c *stalled) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		<-c.closed
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c *stalled) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// tallied tells how much a connection has brought.
type tallied struct {
	net.Conn
	read atomic.Int64
}

func (c *tallied) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// largeReport is one of some megabytes.
func largeReport(r *rollcallv1.Report, groups int, name string) {
	r.Groups = nil
	for i := range groups {
		id := fmt.Sprintf("%s-%d-%s", name, i, strings.Repeat("x", 100))
		r.Groups = append(r.Groups, &rollcallv1.Group{Id: id, Kind: 1, Members: []*rollcallv1.Member{{Id: id, Node: id, State: 1}}})
	}
}

// Ten agents begin reports of 3 MB and end none of them. Of one at a time more than a window is in
// memory, none goes on for ever, and the large reports of another database come through.
func TestLargeMessagesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var conns []*tallied
		h := start(t, func(o *Options) {
			o.Witnesses = 1
			dial := o.Dial
			o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
				conn, err := dial(ctx, address)
				if err != nil || !strings.HasPrefix(address, "10.0.0.") {
					return conn, err
				}
				c := &tallied{Conn: conn}
				mu.Lock()
				conns = append(conns, c)
				mu.Unlock()
				return c, nil
			}
		})
		var targets []Target
		h.stalls = 2 << 20
		for i := range 10 {
			f := newFakeAgent(fmt.Sprint("search-", i), fmt.Sprint("u", i))
			f.say(func(r *rollcallv1.Report) { largeReport(r, 10_000, "g") })
			to := Target{Pod: f.report.GetIdentity().GetPod(), UID: f.report.GetIdentity().GetPodUid(), IP: fmt.Sprint("10.0.0.", i+1)}
			targets = append(targets, to)
			h.serve(to.IP, search, f)
		}
		h.stalls = 0
		h.Follow(search, following(targets...))
		time.Sleep(5 * time.Second)
		large, all := 0, int64(0)
		mu.Lock()
		for _, c := range conns {
			n := c.read.Load()
			if all += n; n > unsettled+16<<10 {
				large++
			}
		}
		require.GreaterOrEqual(t, len(conns), 10)
		mu.Unlock()
		require.Equal(t, 1, large, "one has its turn")
		require.Less(t, all, int64(3<<20+10*(unsettled+16<<10)))

		good := goodAgent()
		good.say(func(r *rollcallv1.Report) { largeReport(r, 10_000, "g") })
		h.serve(other.IP, orders, good)
		h.Follow(orders, following(other))
		time.Sleep(time.Second)
		require.Len(t, h.State(orders).Reports["v0"].Report.GetGroups(), 10_000)

		time.Sleep(largeFor)
		require.NotZero(t, testutil.ToFloat64(h.refused.WithLabelValues(string(reasonSlow))))
		h.Forget(search)
		h.Forget(orders)
		time.Sleep(time.Minute)
	})
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
