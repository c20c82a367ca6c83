package world

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

func newWorld(o Options) (*World, *clock) {
	c := &clock{now: time.Unix(1000, 0)}
	o.Clock = func() time.Time { return c.now }
	return New(model.New(model.Spec{PerZone: 2}), o), c
}

func (w *World) now() time.Duration {
	var now time.Duration
	w.Do(func(m *model.Cluster) { now = m.Now })
	return now
}

func ask(t *testing.T, w *World, r wire.Request) wire.Reply {
	t.Helper()
	if r.Connection == "" {
		w.Do(func(m *model.Cluster) { r.Connection = m.Key() })
	}
	reply, err := w.Ask(t.Context(), r)
	require.NoError(t, err)
	return reply
}

func TestTimeGoesByScale(t *testing.T) {
	w, c := newWorld(Options{Scale: 10})
	begin := w.now()
	c.advance(3 * time.Second)
	require.Equal(t, 30*time.Second, w.now()-begin)
	w.Scale(0)
	c.advance(time.Hour)
	require.Equal(t, 30*time.Second, w.now()-begin)
	w.Scale(1)
	c.advance(time.Second)
	require.Equal(t, 31*time.Second, w.now()-begin)
}

// However fast time goes, a process is not older than it is in real time, and the time of day is the real one.
func TestUptimesAndTheTimeOfDayAreReal(t *testing.T) {
	w, c := newWorld(Options{Scale: 60})
	w.Do(func(m *model.Cluster) { m.Reboot("fdb-4") })
	c.advance(12 * time.Second)
	_, err := w.Control(t.Context(), wire.Command{Op: wire.Order, Advance: 3600})
	require.NoError(t, err)
	var status struct {
		Client  struct{ Timestamp int64 }
		Cluster struct {
			Processes map[string]struct {
				Locality map[string]string
				Uptime   float64 `json:"uptime_seconds"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(ask(t, w, wire.Request{Op: wire.Status}).Document), &status))
	require.Equal(t, c.now.Unix(), status.Client.Timestamp)
	found := false
	for _, p := range status.Cluster.Processes {
		if p.Locality["instance_id"] == "fdb-4" {
			found = true
			require.InDelta(t, 10, p.Uptime, 0)
		}
	}
	require.True(t, found)
}

func TestAStatusIsLateDuringARecovery(t *testing.T) {
	w, c := newWorld(Options{Scale: 2})
	w.Do(func(m *model.Cluster) {
		m.Pace.StatusDelay = 6700 * time.Millisecond
		m.Kill("fdb-0")
	})
	require.Equal(t, 3350*time.Millisecond, ask(t, w, wire.Request{Op: wire.Status}).Delay)
	c.advance(10 * time.Second)
	require.Zero(t, ask(t, w, wire.Request{Op: wire.Status}).Delay)
}

func TestOnlyItsOwnConnectionStringsLeadToIt(t *testing.T) {
	w, _ := newWorld(Options{})
	first := ""
	w.Do(func(m *model.Cluster) { first = m.Key() })
	require.Equal(t, wire.Stranger, ask(t, w, wire.Request{Op: wire.Workers, Connection: "fdb:other"}).Problem)
	require.Equal(t, wire.NoProblem, ask(t, w, wire.Request{Op: wire.SetCoordinators, Targets: []string{"10.8.0.13:4500"}}).Problem)
	reply := ask(t, w, wire.Request{Op: wire.Status, Connection: first})
	require.Equal(t, wire.NoProblem, reply.Problem, "an old string leads on")
	require.NotContains(t, reply.Connection, first)
	require.Equal(t, wire.Stranger, ask(t, w, wire.Request{Op: wire.Status, Line: "7.1"}).Problem)
	require.Equal(t, wire.NoProblem, ask(t, w, wire.Request{Op: wire.Status, Line: "7.3"}).Problem)
}

func TestNothingIsDoneWhileTheDatabaseIsAway(t *testing.T) {
	w, c := newWorld(Options{Scale: 1})
	w.Do(func(m *model.Cluster) {
		for _, p := range m.Processes[:4] {
			m.Kill(p.Instance)
		}
	})
	for _, op := range []wire.Op{wire.Exclude, wire.Include, wire.Maintain, wire.Coordinators, wire.SetCoordinators, wire.Kill, wire.Commit, wire.Read, wire.Workers} {
		require.Equal(t, wire.Unavailable, ask(t, w, wire.Request{Op: op, Targets: []string{"10.8.0.13"}, Zone: "zone-a", Key: "k"}).Problem, string(op))
	}
	w.Do(func(m *model.Cluster) {
		require.Empty(t, m.Excluded)
		require.Empty(t, m.Maintenance.Zone)
		for _, p := range m.Processes {
			m.Start(p.Instance)
		}
	})
	c.advance(10 * time.Second)
	require.Equal(t, wire.NoProblem, ask(t, w, wire.Request{Op: wire.Commit, Key: "k", Value: "v"}).Problem)
	require.Equal(t, "v", ask(t, w, wire.Request{Op: wire.Read, Key: "k"}).Value)
}

func TestWrongDatabaseHasNothingOfTheFirst(t *testing.T) {
	w, _ := newWorld(Options{})
	w.Fault("", wire.WrongDatabase)
	reply := ask(t, w, wire.Request{Op: wire.Status})
	require.Contains(t, reply.Document, `"instance_id" : "other-0"`)
	require.NotContains(t, reply.Document, "fdb-0")
	require.NotContains(t, reply.Document, "10.8.0.")
	require.True(t, reply.Available)
	require.Empty(t, reply.Connection, "nobody's cluster file is to be led astray")
	require.Equal(t, wire.NoProblem, ask(t, w, wire.Request{Op: wire.Exclude, Targets: []string{"192.0.2.1"}}).Problem)
	w.Do(func(m *model.Cluster) { require.Empty(t, m.Excluded) })
}

func TestFaultsOfOneProcess(t *testing.T) {
	w, _ := newWorld(Options{})
	w.Fault("fdb-1", wire.Hang)
	require.Equal(t, wire.Hang, ask(t, w, wire.Request{Op: wire.Open, Via: "10.8.0.11:4500", Exec: "one"}).Fault)
	require.Equal(t, wire.None, ask(t, w, wire.Request{Op: wire.Open, Via: "10.8.0.12:4500", Exec: "two"}).Fault)
	require.Equal(t, []string{"one", "two"}, w.Calls())
}

func member(n int, op wire.Op) wire.Member {
	name := string(rune('a' + n))
	return wire.Member{
		Op: op, Instance: name, Address: "10.9.0." + string(rune('1'+n)) + ":4500", Zone: "z" + name, Class: "unset", Version: "7.3.63", Volume: "v" + name, Incarnation: "1",
	}
}

func TestMembers(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	w := New(model.Empty(model.Spec{}), Options{Scale: 1, Silence: 3 * time.Second, Expect: 3, Coordinators: 3, Clock: func() time.Time { return c.now }})
	tell := func(m wire.Member) wire.Standing {
		s, err := w.Member(t.Context(), m)
		require.NoError(t, err)
		return s
	}
	up := func() int {
		view, err := w.Control(t.Context(), wire.Command{Op: wire.Look})
		require.NoError(t, err)
		return len(view.Up)
	}
	for n := range 2 {
		require.Equal(t, wire.Standing{Known: true}, tell(member(n, wire.Join)), "there is no database yet")
	}
	tell(member(2, wire.Join))
	require.NotEmpty(t, tell(member(2, wire.Beat)).Connection, "all are there, so there is")

	c.advance(2 * time.Second)
	for n := range 2 {
		tell(member(n, wire.Beat))
	}
	c.advance(2 * time.Second)
	require.Equal(t, 2, up(), "the third has been silent for four seconds")
	require.True(t, tell(member(2, wire.Beat)).Known)
	require.Equal(t, 3, up(), "it was only slow")

	tell(member(1, wire.Leave))
	require.Equal(t, 2, up())
	require.False(t, tell(member(1, wire.Beat)).Known, "sent before the goodbye, and late")
	require.Equal(t, 2, up())
	again := member(1, wire.Join)
	again.Incarnation = "2"
	require.True(t, tell(again).Known)
	require.Equal(t, 3, up())
	require.False(t, tell(member(1, wire.Beat)).Known, "of a run that another followed")
	tell(member(1, wire.Leave))
	require.Equal(t, 3, up(), "likewise")

	lost := member(1, wire.Join)
	lost.Incarnation, lost.Volume = "3", "another"
	tell(lost)
	w.Do(func(m *model.Cluster) { require.Equal(t, "another", m.Process("b").Volume) })

	broken := member(0, wire.Join)
	broken.Version = "new"
	_, err := w.Member(t.Context(), broken)
	require.Error(t, err)
}

func TestAWorldGoesOn(t *testing.T) {
	w, _ := newWorld(Options{})
	file := filepath.Join(t.TempDir(), "world.json")
	none, err := Load(file)
	require.NoError(t, err)
	require.Nil(t, none)
	require.Equal(t, wire.NoProblem, ask(t, w, wire.Request{Op: wire.Commit, Key: "k", Value: "v"}).Problem)
	require.NoError(t, w.Save(file))
	cluster, err := Load(file)
	require.NoError(t, err)
	c := &clock{now: time.Unix(5000, 0)}
	next := New(cluster, Options{Scale: 1, Silence: 3 * time.Second, Clock: func() time.Time { return c.now }})
	require.Equal(t, "v", ask(t, next, wire.Request{Op: wire.Read, Key: "k"}).Value)
	epoch := cluster.Recovery.Epoch
	c.advance(time.Second)
	for _, p := range cluster.Clone().Processes {
		_, err := next.Member(t.Context(), wire.Member{
			Op: wire.Beat, Instance: p.Instance, Address: p.Address, Zone: p.Zone, Class: string(p.Class), Version: p.Version.String(), Volume: p.Volume, Incarnation: "1",
		})
		require.NoError(t, err)
	}
	c.advance(2500 * time.Millisecond)
	next.Do(func(m *model.Cluster) {
		require.True(t, m.Accepting())
		require.Equal(t, epoch, m.Recovery.Epoch)
		require.Len(t, m.Workers(), 6)
	})
}

func TestOrders(t *testing.T) {
	w, c := newWorld(Options{Scale: 1})
	scale := 0.0
	begin := w.now()
	view, err := w.Control(t.Context(), wire.Command{Op: wire.Order, Fault: wire.Hang, Scale: &scale, Advance: 60, Message: true, Messages: []string{"full_replication_timeout"}})
	require.NoError(t, err)
	require.True(t, view.Available)
	require.Equal(t, 6, view.Processes)
	c.advance(time.Hour)
	require.Equal(t, time.Minute, w.now()-begin)
	reply := ask(t, w, wire.Request{Op: wire.Status})
	require.Equal(t, wire.Hang, reply.Fault)
	require.Contains(t, reply.Document, `"name" : "full_replication_timeout"`)
}
