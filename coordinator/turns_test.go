package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

// Many databases at once: each has its first look, and there are never more streams than the limit; those whose look
// comes to no end (an agent that cannot be reached, a database that is not well) take their turns and no more.
func TestFirstLooksAreBounded(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		w.firstLooks = 9
		var all []*database
		for i := range 24 {
			all = append(all, w.add(fmt.Sprintf("db%02d", i), 3))
		}
		unreachable := map[string]*member{}
		w.mu.Lock()
		for i, db := range all[:5] { // more than can look at once
			if i > 1 {
				for ip, m := range w.byIP {
					if m.pod == db.name+"-1" {
						unreachable[ip] = m
						delete(w.byIP, ip)
					}
				}
				continue
			}
			db.said = func(_ string, r *rollcallv1.Report) *rollcallv1.Report {
				r.Verdict = rollcallv1.Verdict_VERDICT_RED
				return r
			}
		}
		w.mu.Unlock()
		begun := func() (n int) {
			for _, db := range all {
				if isTrue(db.status(), v1alpha1.ConditionInitialized) {
					n++
				}
			}
			return n
		}
		most := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.mostWatching
		}
		p := w.start()
		time.Sleep(4 * time.Minute)
		require.Equal(t, 19, begun())
		for _, db := range all[5:] {
			require.Equal(t, model.ClusterDone, db.status().Phase, db.name)
		}
		require.LessOrEqual(t, most(), w.firstLooks)
		require.Positive(t, most())

		// So it is after a change of leaders; and who has work does not wait.
		p.end()
		w.mu.Lock()
		w.mostWatching = 0
		for _, db := range all[:2] {
			db.said = nil
		}
		maps.Copy(w.byIP, unreachable)
		w.mu.Unlock()
		p = w.start()
		defer p.end()
		time.Sleep(time.Second)
		all[23].roll("v2")
		all[23].requireDone(time.Minute, "v2")
		require.LessOrEqual(t, most(), w.firstLooks+3)
		time.Sleep(4 * time.Minute)
		require.Equal(t, 24, begun())
		require.LessOrEqual(t, most(), w.firstLooks+3)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Zero(t, w.watching, "nobody has anything to do")
	})
}

func TestTurns(t *testing.T) {
	a, b, c, d := Key{Name: "a"}, Key{Name: "b"}, Key{Name: "c"}, Key{Name: "d"}
	now := time.Unix(0, 0)
	var poked []Key
	told := func() []Key {
		defer func() { poked = nil }()
		slices.SortFunc(poked, func(x, y Key) int { return int(x.Name[0]) - int(y.Name[0]) })
		return slices.Compact(poked)
	}
	turns := newTurns(100, func(key Key) { poked = append(poked, key) })
	ask := func(key Key, agents int, need bool) bool {
		may, _ := turns.ask(now, key, agents, need)
		return may
	}
	require.True(t, ask(a, 50, false), "there is room")
	require.True(t, ask(b, 50, true))
	require.Empty(t, told())
	require.False(t, ask(d, 50, false), "there is none for who has no need")
	require.False(t, ask(c, 60, true))
	require.Equal(t, []Key{a, b}, told(), "somebody waits")
	require.True(t, ask(b, 50, true), "for as long as its patience lasts")
	_, until := turns.ask(now, b, 50, true)
	require.Equal(t, now.Add(turnPatience), until)
	require.False(t, ask(a, 50, false), "it has no need")
	turns.leave(now, a)
	require.Empty(t, told(), "50 and 60 are too many")
	now = now.Add(turnPatience)
	require.False(t, ask(b, 50, true))
	turns.leave(now, b)
	require.Equal(t, []Key{c}, told())
	require.False(t, ask(b, 50, true), "behind the others")
	require.True(t, ask(c, 60, true))
	require.False(t, ask(b, 50, false), "it waits no more")
	now = now.Add(2 * turnPatience)
	require.True(t, ask(c, 60, true), "nobody waits")

	require.True(t, ask(b, 0, false), "one that has no pods yet")
	require.True(t, ask(b, 40, true))
	require.False(t, ask(b, 50, true), "it has grown, and makes room")
	turns.leave(now, b)
	require.True(t, ask(c, 500, true), "whoever is alone may be as large as it is")
	require.False(t, ask(d, 1, true))
	turns.leave(now, c)
	require.Equal(t, []Key{c, d}, told())
	turns.leave(now, d)
	require.True(t, ask(a, 100, true))
	for _, key := range []Key{c, b, d} {
		require.False(t, ask(key, 60, true))
	}
	told()
	for i, key := range []Key{c, b, d} {
		turns.leave(now, []Key{a, c, b}[i])
		require.Equal(t, []Key{key}, told(), "in the order in which they came")
	}
}
