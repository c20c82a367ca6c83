package gossip

import (
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

var speed = flag.Bool("speed", false, "measure at full length and print a table of the figures")

// scale is the size of the test; `make bench` runs all of it. 200 members exchange everything once
// in ten minutes, so that is what idle is averaged over.
type scale struct {
	members, news int
	idle, split   time.Duration
}

func testScale() scale {
	if *speed {
		return scale{members: 200, news: 50, idle: 10 * time.Minute, split: 3 * time.Minute}
	}
	return scale{members: 40, news: 5, idle: 30 * time.Second, split: time.Minute}
}

// figures are what was seen of one ring. Times are virtual.
type figures struct {
	cold      time.Duration
	most, all []time.Duration // that each bad news took to reach 99 % and all
	wire      float64         // bytes per second that each member sends, headers included
	processor float64         // of a core, each member
	dead      int             // how many members at most were wrongly dead to others at one time
	longest   time.Duration   // until the last one of them was corrected
	merged    time.Duration   // after the end of a split
}

// TestScale holds speed and size of the gossip to the bars, with the real
// memberlist in virtual time. `make bench` does it with 200 members.
func TestScale(t *testing.T) {
	race.Heavy(t)
	s := testScale()
	quiet, lossy := s.measure(t, 0), s.measure(t, 0.1)
	if *speed {
		fmt.Println(s.table(quiet, lossy))
	}
	require.LessOrEqual(t, butOne(quiet.most), 1200*time.Millisecond)
	require.LessOrEqual(t, butOne(quiet.all), 2*time.Second)
	require.LessOrEqual(t, butOne(lossy.most), 1500*time.Millisecond)
	require.LessOrEqual(t, butOne(lossy.all), 3*time.Second)
	require.LessOrEqual(t, quiet.wire, 300.0)
	require.Zero(t, quiet.dead)
	for _, f := range []figures{quiet, lossy} {
		require.LessOrEqual(t, f.cold, 20*time.Second)
		require.LessOrEqual(t, f.longest, 10*time.Second)
		require.LessOrEqual(t, f.merged, time.Minute)
	}
}

func (s scale) measure(t *testing.T, loss float64) (f figures) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(11)
		n.loss = loss
		r := newRing(t, n)
		defer r.stop()
		for i := range s.members {
			r.add(i)
		}
		f.cold = until(t, time.Minute, "all see all", r.whole())
		for _, m := range r.members {
			roster, _ := m.Roster()
			require.True(t, roster.Synced)
		}
		time.Sleep(30 * time.Second) // until the news of the start has been sent
		f.idle(t, r, s.idle)
		for i := range s.news {
			f.news(t, r, r.members[i*17%s.members])
		}
		if loss == 0 {
			f.split(t, r, s.split)
		}
	})
	t.Logf("%d members, loss %v: cold start %v; bad news to 99 %% / all %v / %v; idle %.0f bytes/s, %.4f %% of a core; %d false deaths, longest %v; one again after %v",
		s.members, loss, f.cold, slices.Max(f.most), slices.Max(f.all), f.wire, f.processor*100, f.dead, f.longest, f.merged)
	return f
}

// idle measures a time without news and without deaths.
func (f *figures) idle(t *testing.T, r *ring, span time.Duration) {
	wire, used := r.network.wire.Load(), processorTime(t)
	members := len(r.members)
	const step = 200 * time.Millisecond
	var wrongFor time.Duration
	for start := time.Now(); time.Since(start) < span; time.Sleep(step) {
		wrong := 0
		for _, m := range r.members {
			wrong += members - m.alive()
		}
		wrongFor += step
		if wrong == 0 {
			wrongFor = 0
		}
		f.dead, f.longest = max(f.dead, wrong), max(f.longest, wrongFor)
	}
	f.wire = float64(r.network.wire.Load()-wire) / span.Seconds() / float64(members)
	f.processor = (processorTime(t) - used).Seconds() / span.Seconds() / float64(members)
}

// news sends bad news, and waits until all have it.
func (f *figures) news(t *testing.T, r *ring, bad *member) {
	knows := bad.tells()
	start := time.Now()
	until(t, missed, "99 % know", func() bool { return r.count(knows)*100 >= len(r.members)*99 })
	f.most = append(f.most, time.Since(start))
	until(t, missed, "all know", r.everybody(knows))
	f.all = append(f.all, time.Since(start))
	time.Sleep(2 * time.Second)
}

// split splits the ring into halves. Each half has its own bad news, which the other half must hear
// afterwards.
func (f *figures) split(t *testing.T, r *ring, span time.Duration) {
	half := len(r.members) / 2
	first := map[netip.AddrPort]bool{}
	for _, m := range r.members[:half] {
		first[m.address] = true
	}
	start := time.Now()
	r.network.set(func() {
		r.network.split = func(a, b netip.AddrPort) bool { return first[a] != first[b] }
	})
	until(t, 2*time.Minute, "both halves alone", r.everybody(func(m *member) bool {
		if first[m.address] {
			return m.alive() == half
		}
		return m.alive() == len(r.members)-half
	}))
	// Two of each, as one may miss somebody by chance.
	one, other := [2]func(*member) bool{r.members[0].tells(), r.members[1].tells()}, [2]func(*member) bool{r.members[half].tells(), r.members[half+1].tells()}
	known := func(news [2]func(*member) bool, members int) bool {
		return r.count(news[0]) == members || r.count(news[1]) == members
	}
	until(t, 3*time.Second, "each half knows its own", func() bool {
		return known(one, half) && known(other, len(r.members)-half)
	})
	time.Sleep(max(span-time.Since(start), 0))
	r.network.set(func() { r.network.split = func(a, b netip.AddrPort) bool { return false } })
	whole := r.whole()
	f.merged = until(t, 2*time.Minute, "one again, with both halves' news", func() bool {
		for _, news := range []func(*member) bool{one[0], one[1], other[0], other[1]} {
			if r.count(news) != len(r.members) {
				return false
			}
		}
		return whole()
	})
}

func (s scale) table(quiet, lossy figures) string {
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
	out := fmt.Sprintf("Gossip of %d real members in virtual time:\n\n", s.members)
	out += "| what | bar; with 10 % loss | no loss | 10 % loss |\n| --- | --- | --- | --- |\n"
	line := func(what, bar, quiet, lossy string) {
		out += fmt.Sprintf("| %s | %s | %s | %s |\n", what, bar, quiet, lossy)
	}
	line(fmt.Sprintf("bad news to 99 %%, worst of %d", s.news), "<= 1.2 s; 1.5 s", seconds(slices.Max(quiet.most)), seconds(slices.Max(lossy.most)))
	line("bad news to all", "<= 2 s; 3 s", seconds(slices.Max(quiet.all)), seconds(slices.Max(lossy.all)))
	line("cold start, all at once", "<= 20 s", seconds(quiet.cold), seconds(lossy.cold))
	line("idle, sent by each, headers included", "<= 300 B/s; none", fmt.Sprintf("%.0f B/s", quiet.wire), fmt.Sprintf("%.0f B/s", lossy.wire))
	line("idle, each, of a core of this machine", "<= 0.05 %; none", fmt.Sprintf("%.3f %%", quiet.processor*100), fmt.Sprintf("%.3f %%", lossy.processor*100))
	line(fmt.Sprintf("false deaths in %v, longest until refuted", s.idle), "none; 10 s",
		fmt.Sprint(quiet.dead), fmt.Sprintf("%d, %s", lossy.dead, seconds(lossy.longest)))
	line(fmt.Sprintf("one again after %v in two halves", s.split), "<= 60 s", seconds(quiet.merged), "")
	return out
}

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// missed is the time after which a member that news has missed hears of it at the latest, in its
// next exchange.
const missed = 10 * time.Minute

// butOne returns the second longest time. Who hears of news is chance, and among n members one news
// in e^16/n (with 10 % loss e^14.4/n) misses a member, which waits for an exchange. That never
// happens twice in so few.
func butOne(spans []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(spans))
	return sorted[len(sorted)-2]
}

// whole reports whether all see all.
func (r *ring) whole() func() bool {
	return r.everybody(func(m *member) bool { return m.alive() == len(r.members) })
}

// tells makes a member say that its database has lost it, and returns a function that reports
// whether a member knows it.
func (m *member) tells() func(*member) bool {
	m.say(func(h *rollcallv1.Headline) { h.Member = rollcallv1.Membership_MEMBERSHIP_NOT_LIVE })
	return m.knownTo(m.headline.Sequence)
}
