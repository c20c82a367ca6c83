package switchover

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func serverID(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", n+1) }

// seen is db-0 with two replicas that have all of it, seen by db-0.
func seen() Input {
	lag := time.Duration(0)
	v := Input{Claim: "claim-1", Wrote: true, Limits: Limits{}.WithDefaults(), Refusals: map[string]string{}}
	v.Now, v.MaxLag, v.Domains = noon, 10*time.Second, replication.Domains{"db": ".db.ns.svc"}
	v.Self = topology.Member{Known: true, Peer: engines.Peer{Alive: true}, State: replication.State{
		Node: "db-0", ID: serverID(0), Version: "8.4.3", Flavor: replication.MySQL, Serving: true, Writes: replication.Allowed, Executed: serverID(0) + ":1-100",
		SemiSync: replication.SemiSync{Source: true, Acks: 1},
	}}
	for _, name := range []string{"db-1", "db-2"} {
		v.Others = append(v.Others, topology.Member{Known: true,
			Peer: engines.Peer{Pod: name, Node: name, Alive: true, Since: noon.Add(-time.Hour)},
			State: replication.State{
				Node: name, ID: serverID(replication.Ordinal(name)), Version: "8.4.3", Flavor: replication.MySQL, Serving: true, Writes: replication.RefusedAtStart,
				Executed: serverID(0) + ":1-100", Received: serverID(0) + ":1-100", SemiSync: replication.SemiSync{Replica: true},
				Source: &replication.Source{Host: "db-0.db.ns.svc", Port: 3306, Receiving: true, Applying: true, Started: true, Lag: &lag},
			}})
	}
	return v
}

// frozen is the same after writes were stopped.
func frozen() Input {
	v := seen()
	v.Self.State.Writes = replication.RefusedBySQL
	v.Self.State.Switch = &replication.Switch{Claim: "claim-1", At: noon, From: "db-0", Frozen: v.Self.State.Executed, Until: noon.Add(30 * time.Second)}
	for i := range v.Others {
		v.Others[i].State.Switch = &replication.Switch{Claim: "claim-1", At: noon, From: "db-0", Until: noon.Add(30 * time.Second)}
	}
	return v
}

// blank makes it a database to which nobody has written anything.
func blank(v *Input) {
	v.Self.State.Executed = "none"
	for i := range v.Others {
		v.Others[i].State.Executed, v.Others[i].State.Received = "none", ""
	}
	if v.Self.State.Switch != nil {
		v.Self.State.Switch.Frozen = "none"
	}
}

// vacancy is all members after they were started again.
func vacancy() Input {
	v := seen()
	v.Claim, v.Wrote = "", false
	v.Self.State.Writes = replication.RefusedAtStart
	return v
}

func TestNext(t *testing.T) {
	lag := 34 * time.Second
	none := time.Duration(0)
	for _, c := range []struct {
		name  string
		view  func() Input
		edit  func(v *Input)
		Kind  Kind
		to    string
		words string
	}{
		{"all is well", seen, func(*Input) {}, Start, "", "stopping writes"},
		{"nobody else", seen, func(v *Input) { v.Others = nil }, Done, "", "nobody else is there"},
		{"replicas without agents", seen, func(v *Input) { v.Others, v.Self.State.Replicas = nil, []replication.Replica{{}} }, Wait, "", "no other member is known"},
		{"a replica", seen, func(v *Input) {
			v.Wrote = false
			v.Self, v.Others[0] = v.Others[0], v.Self
			v.Others[0].Peer = engines.Peer{Pod: "db-0", Node: "db-0", Alive: true}
		}, Done, "", "db-1 is a replica"},
		{"own server is silent", seen, func(v *Input) { v.Self.State.Serving = false }, Wait, "", "does not serve"},
		{"all lag", seen, func(v *Input) {
			v.Others[0].State.Source.Lag, v.Others[1].State.Source.Lag = &lag, nil
		}, Wait, "", "db-1 lags 34s, how far db-2 lags is not known"},
		{"full disks", seen, func(v *Input) {
			v.Past = topology.Checkpoint{At: noon.Add(-12 * time.Second), Executed: serverID(0) + ":1-90"}
			v.Others[0].State.Executed, v.Others[0].State.Received = serverID(0)+":1-89", serverID(0)+":1-89"
			v.Others[1].State.Executed, v.Others[1].State.Received = serverID(0)+":1-80", serverID(0)+":1-80"
		}, Wait, "", "db-1 does not say that it lags, and lacks what db-0 had executed 12s ago: its disk may be full, or nothing reaches it, db-2 does not say that it lags"},
		{"nothing lacks what was long ago", seen, func(v *Input) {
			v.Past = topology.Checkpoint{At: noon.Add(-12 * time.Second), Executed: serverID(0) + ":1-90"}
			v.Others[0].State.Executed, v.Others[0].State.Received = serverID(0)+":1-90", serverID(0)+":1-90"
			v.Others[1].State.Executed, v.Others[1].State.Received = serverID(0)+":1-89", serverID(0)+":1-90"
		}, Start, "", ""},
		{"who does not receive does not acknowledge", seen, func(v *Input) {
			v.Past = topology.Checkpoint{At: noon.Add(-12 * time.Second), Executed: serverID(0) + ":1-90"}
			v.Others[1].State.Executed, v.Others[1].State.Received = serverID(0)+":1-80", serverID(0)+":81-89"
		}, Wait, "", "db-1 would have 0 of the 1 replicas that acknowledge a commit, db-2 does not say that it lags"},
		{"one lags", seen, func(v *Input) { v.Others[0].State.Source.Lag = &lag }, Start, "", ""},
		{"appliers are stopped", seen, func(v *Input) {
			v.Others[0].State.Source.Failure, v.Others[1].State.Source.Applying = "1062 duplicate", false
		}, Wait, "", "db-1's replication is stopped: 1062 duplicate, db-2's applier is stopped"},
		{"errant", seen, func(v *Input) {
			v.Others[0].State.Executed += "," + serverID(1) + ":1"
			v.Others[1].Peer.Leaving = true
		}, Wait, "", "db-1 has transactions that db-0 has not"},
		{"being stopped", seen, func(v *Input) { v.Others[0].Peer.Leaving, v.Others[1].Peer.Alive = true, false }, Wait, "", "db-1 is being stopped, db-2's agent is unavailable"},
		{"not eligible", seen, func(v *Input) { v.Eligible = []string{"db-9"} }, Wait, "", "db-1 is not to take over"},
		{"older", seen, func(v *Input) {
			v.Others[0].State.Version, v.Others[1].State.Version = "8.4.2", "8.0.40"
		}, Wait, "", "db-1 has version 8.4.2, older than 8.4.3"},
		{"newer", seen, func(v *Input) { v.Others[0].State.Version = "9.7.0" }, Start, "", ""},
		{"too few acknowledge", seen, func(v *Input) { v.Others[1].State.Source.Receiving = false }, Wait, "", "db-1 would have 0 of the 1 replicas"},
		{"never enough members to acknowledge", seen, func(v *Input) { v.Others = v.Others[:1] }, Start, "", ""},
		{"long write", seen, func(v *Input) { v.Self.State.Writing = 40 * time.Second }, Wait, "", "open for 40s"},
		{"little time", seen, func(v *Input) { v.NotAfter = noon.Add(time.Second) }, Wait, "", "too little time"},
		{"again soon", seen, func(v *Input) { v.Again, v.Failed = noon.Add(5*time.Second), "writes did not end" }, Wait, "", "writes did not end; next try in 5s"},
		{"starts writable", seen, func(v *Input) { v.Self.State.StartsWritable = true }, Refused, "", "read_only"},
		{"filters", seen, func(v *Input) {
			v.Others[0].State.Source.Filtered, v.Others[1].State.Source.Delay = true, time.Hour
		}, Wait, "", "db-1 replicates by filters, so that it has not all of the data, db-2 replicates with a delay of 1h0m0s on purpose"},
		{"it does not log all", seen, func(v *Input) { v.Self.State.Unlogged = "it does not log all" }, Wait, "", "db-0 cannot hand over: it does not log all"},
		{"replicas do not log all", seen, func(v *Input) {
			v.Others[0].State.Unlogged, v.Others[1].State.Unlogged = "it does not log all", "it does not log all"
		}, Wait, "", "db-1 could not be followed: it does not log all"},
		{"one filters", seen, func(v *Input) {
			v.Others[0].State.Source.Filtered, v.Self.State.SemiSync = true, replication.SemiSync{}
		}, Start, "", ""},
		{"one filters, frozen", frozen, func(v *Input) {
			v.Others[0].State.Source.Filtered, v.Self.State.SemiSync = true, replication.SemiSync{}
		}, Promote, "db-2", ""},
		{"an earlier agent has closed it", seen, func(v *Input) { v.Self.State.Writes = replication.RefusedBySQL }, TakeBack, "", "an earlier agent"},
		{"somebody else has closed it", seen, func(v *Input) {
			v.Self.State.Writes, v.ClosedElsewhere = replication.RefusedBySQL, true
		}, Wait, "", "db-0 was made read-only by somebody"},
		{"somebody else has closed it, and it is undone", seen, func(v *Input) {
			v.Self.State.Writes, v.ClosedElsewhere, v.Undoing = replication.RefusedBySQL, true, true
		}, Done, "", "db-0 was made read-only by somebody"},
		{"others know of a try of its own", seen, func(v *Input) {
			v.Self.State.Writes, v.ClosedElsewhere = replication.RefusedBySQL, true
			v.Others[0].State.Switch = &replication.Switch{Claim: "claim-1", At: noon, From: "db-0", Until: noon.Add(time.Second)}
		}, TakeBack, "", "an earlier agent"},
		{"a replica says the whole name", seen, func(v *Input) {
			v.Self.State.Node = "db-0.db"
			v.Others[0].State.Source.Host = "db-0.DB.ns.svc.cluster.local"
		}, Start, "", ""},
		{"a namesake elsewhere", seen, func(v *Input) {
			v.Others = v.Others[:1]
			v.Others[0].State.Source.ID = serverID(9)
		}, Wait, "", "db-1 follows db-0.db.ns.svc"},
		{"two writers", seen, func(v *Input) { v.Others[0].State.Writes, v.Others[0].State.Source = replication.Allowed, nil }, Wait, "", "both allow writes"},

		{"nobody has written anything yet", seen, blank, Start, "", ""},
		{"it has lost what the others have", seen, func(v *Input) { v.Self.State.Executed = "none" }, Wait, "", "db-1 has transactions and db-0, which was made again or has lost them, has none"},
		{"one of the others has something, nobody else", seen, func(v *Input) {
			blank(v)
			v.Others[1].State.Executed = serverID(2) + ":1"
		}, Wait, "", "db-2 has transactions"},
		{"the others are new", seen, func(v *Input) {
			v.Others[0].State.Executed, v.Others[1].State.Executed = "none", "none"
		}, Wait, "", "db-1 has executed nothing yet, db-2 has executed nothing yet"},
		{"one of the others is new", seen, func(v *Input) { v.Others[0].State.Executed = "none" }, Start, "", ""},
		{"positions are not known", seen, func(v *Input) { v.Self.State.Executed = "" }, Wait, "", "db-0 does not tell by GTIDs what it has executed"},
		{"positions of the others are not known", seen, func(v *Input) {
			v.Others[0].State.Executed, v.Others[1].State.Executed = "", ""
		}, Wait, "", "db-1 cannot be compared: not a GTID position: it is not known"},
		{"those of an unwritten primary's others", seen, func(v *Input) {
			blank(v)
			v.Others[0].State.Executed, v.Others[1].State.Executed = "", ""
		}, Wait, "", "db-1 cannot be compared"},

		{"nothing is frozen", frozen, blank, Promote, "db-1", ""},
		{"nothing is frozen, and of one nothing is known", frozen, func(v *Input) {
			blank(v)
			v.Others[0].State.Executed = ""
		}, Promote, "db-2", ""},
		{"a new one has to catch up", frozen, func(v *Input) {
			v.Others[0].State.Executed, v.Others[1].Known = "none", false
			v.Self.State.SemiSync = replication.SemiSync{}
		}, CatchUp, "db-1", ""},
		{"caught up", frozen, func(*Input) {}, Promote, "db-1", ""},
		{"catching up", frozen, func(v *Input) {
			v.Others[0].State.Executed, v.Others[1].State.Executed = serverID(0)+":1-90", serverID(0)+":1-95"
			v.Others[0].State.Source.Lag = &none
		}, CatchUp, "db-2", ""},
		{"lag does not count any more", frozen, func(v *Input) { v.Others[0].State.Source.Lag = nil }, Promote, "db-1", ""},
		{"nobody is left", frozen, func(v *Input) { v.Others[0].Known, v.Others[1].Known = false, false }, TakeBack, "", "nobody can take over any more"},
		{"too late", frozen, func(v *Input) { v.Now = noon.Add(29 * time.Second) }, TakeBack, "", "in time"},
		{"taken back", frozen, func(v *Input) { v.Undoing = true }, TakeBack, "", "given up"},
		{"stopped in the middle", frozen, func(v *Input) { v.Self.State.Switch.Frozen = "" }, TakeBack, "", "not wholly stopped"},
		{"taken over", frozen, func(v *Input) { v.Others[0].State.Writes, v.Others[0].State.Source = replication.Allowed, nil }, HaveFollow, "db-1", "db-2 follows db-1"},
		{"followed by the others", frozen, func(v *Input) {
			v.Others[0].State.Writes, v.Others[0].State.Source = replication.Allowed, nil
			v.Others[1].State.Source = &replication.Source{Host: "db-1.db.ns.svc", Port: 3306, Started: true}
		}, Follow, "db-1", "db-0 follows db-1"},
		{"followed by the old one", frozen, func(v *Input) {
			v.Others[0].State.Writes, v.Others[0].State.Source = replication.Allowed, nil
			v.Self.State.Source = &replication.Source{Host: "db-1.db.ns.svc", Port: 3306, Started: true}
		}, HaveFollow, "db-1", "db-2 follows db-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.view()
			c.edit(&v)
			a := Next(v)
			require.Equal(t, c.Kind, a.Kind, a.Reason)
			require.Equal(t, c.to, a.To)
			require.Contains(t, a.Reason, c.words)
		})
	}
}

// TestAsked checks that after somebody was told to take over, nothing but that goes on until it is
// known that it did not.
func TestAsked(t *testing.T) {
	asked := func() Input {
		v := frozen()
		v.Self.State.Switch.To, v.Self.State.Switch.Promoting = "db-1", true
		return v
	}
	v := asked()
	require.Equal(t, Promote, Next(v).Kind, "it is asked again")
	for _, when := range []time.Duration{0, time.Minute, time.Hour} {
		v = asked()
		v.Now = noon.Add(when)
		v.Others[0].Known = false
		require.Equal(t, Wait, Next(v).Kind, "nobody knows")
		v.Others = v.Others[1:]
		require.Equal(t, Wait, Next(v).Kind, "nobody has heard of it")
		v = asked()
		v.Now = noon.Add(when)
		v.Others[0].State.Serving = false
		require.Equal(t, Action{Kind: TakeBack, Ask: []string{"db-1"}, Reason: "db-1 does not serve"}, Next(v), "its agent may know")
		v.Others[0].State.Switch.Promoting = true
		require.Equal(t, when > 0, Next(v).Kind == TakeBack, "it has begun")
	}
	v = asked()
	v.Now = noon.Add(time.Minute)
	require.Equal(t, Action{Kind: TakeBack, Ask: []string{"db-1"}, Reason: "db-1 did not take over"}, Next(v))
	v.Others[0].State.Executed += "," + serverID(1) + ":1"
	v.Others[0].State.Source = nil
	require.Equal(t, Follow, Next(v).Kind, "it took writes before it was started again")
}

// TestUnknownOpensNothing checks that one fact after the other is unknown, and no server begins to
// allow writes.
func TestUnknownOpensNothing(t *testing.T) {
	require.Equal(t, Open, Repair(vacancy()).Kind, "what is known permits it")
	unknown := map[string]func(m *topology.Member){
		"not asked":         func(m *topology.Member) { m.Known = false },
		"not serving":       func(m *topology.Member) { m.State.Serving = false },
		"writes unknown":    func(m *topology.Member) { m.State.Writes = replication.WritesUnknown },
		"allows writes":     func(m *topology.Member) { m.State.Writes = replication.Allowed },
		"flavor unknown":    func(m *topology.Member) { m.State.Flavor = "" },
		"agent unavailable": func(m *topology.Member) { m.Peer.Alive = false },
		"agent new":         func(m *topology.Member) { m.Peer.Since = noon.Add(-time.Second) },
		"hands over": func(m *topology.Member) {
			m.State.Switch = &replication.Switch{Claim: "c", From: "db-2", Until: noon.Add(time.Second)}
		},
		"takes over": func(m *topology.Member) {
			m.State.Switch = &replication.Switch{Claim: "c", From: "db-0", Promoting: true}
		},
		"positions not known":        func(m *topology.Member) { m.State.Executed, m.State.Received = "", "" },
		"more was executed":          func(m *topology.Member) { m.State.Executed += "," + serverID(2) + ":1" },
		"more was received":          func(m *topology.Member) { m.State.Received = serverID(0) + ":1-101" },
		"follows outside":            func(m *topology.Member) { m.State.Source.Host = "elsewhere.example" },
		"made read-only by somebody": func(m *topology.Member) { m.State.Writes, m.State.Source = replication.RefusedBySQL, nil },
	}
	for name, edit := range unknown {
		for i := range 2 {
			v := vacancy()
			edit(&v.Others[i])
			require.NotEqual(t, Open, Repair(v).Kind, name)
		}
	}
	v := vacancy()
	v.Self.State.Executed = ""
	require.NotEqual(t, Open, Repair(v).Kind, "what it has is not known")
	v = vacancy()
	v.Self.State.Executed = "none"
	require.NotEqual(t, Open, Repair(v).Kind, "it is new, and the others are not")
	v = vacancy()
	v.Self.State.Writes = replication.RefusedBySQL
	require.Equal(t, Done, Repair(v).Kind, "somebody meant it")
	v = vacancy()
	v.Others = nil
	require.Equal(t, Done, Repair(v).Kind, "nobody else is known")
	for i := range 2 {
		v = frozen()
		v.Self.State.Switch, v.Wrote = nil, true
		v.Others[i].Known = false
		require.Equal(t, Wait, Next(v).Kind, "an earlier agent may have told it to take over")
	}
}

func TestSuccessor(t *testing.T) {
	v := vacancy()
	v.Self.State.Executed = serverID(0) + ":1-90"
	v.Others[0].State.Source.Filtered = true
	name, why := v.successor()
	require.Equal(t, "db-2", name, why)
	v.Others[1].State.Source.Filtered = true
	name, _ = v.successor()
	require.Empty(t, name, "the GTIDs are there, the data are not")
	require.Equal(t, engines.ProgressRunning, v.Copied("").State, "nobody is known to have all")
	v = vacancy()
	require.Equal(t, engines.ProgressDone, v.Copied("").State)
	v.Self.State.Unlogged = "it does not log all"
	require.Equal(t, engines.ProgressRunning, v.Copied("").State, "others have all that it logs")
	v = vacancy()
	name, _ = v.successor()
	require.Equal(t, "db-0", name, "others follow it")
	blank(&v)
	require.Equal(t, Open, Repair(v).Kind, "nobody has anything")
	v = vacancy()
	v.Self.State.Executed = serverID(0) + ":1-90"
	name, _ = v.successor()
	require.Equal(t, "db-1", name, "the lowest of those that have all")
	v.Others[1].State.Executed += "," + serverID(2) + ":1"
	v.Others[0].State.Executed += "," + serverID(1) + ":1"
	name, why = v.successor()
	require.Empty(t, name, why)
}

func TestRepaired(t *testing.T) {
	replica := func() Input {
		v := seen()
		v.Self, v.Others[0] = v.Others[0], v.Self
		v.Others[0].Peer = engines.Peer{Pod: "db-0", Node: "db-0", Alive: true, Since: noon.Add(-time.Hour)}
		return v
	}
	for _, c := range []struct {
		name string
		edit func(v *Input)
		Kind Kind
	}{
		{"all is well", func(*Input) {}, Done},
		{"follows nobody", func(v *Input) { v.Self.State.Source = nil }, Follow},
		{"follows another replica", func(v *Input) { v.Self.State.Source.Host = "db-2" }, Follow},
		{"follows somebody outside", func(v *Input) { v.Self.State.Source.Host = "elsewhere" }, Done},
		{"allows writes", func(v *Input) { v.Self.State.Writes = replication.Allowed }, Shut},
		{"not started", func(v *Input) { v.Self.State.Source.Started = false }, Resume},
		{"stopped by somebody", func(v *Input) { v.Self.State.Source.Started, v.Ran = false, true }, Done},
		{"told to take over", func(v *Input) {
			v.Self.State.Switch = &replication.Switch{From: "db-0", Promoting: true, Frozen: serverID(0) + ":1-100", Until: noon.Add(time.Second)}
		}, Finish},
		{"told to take over, too late", func(v *Input) {
			v.Self.State.Switch = &replication.Switch{From: "db-0", Promoting: true, Frozen: serverID(0) + ":1-100", Until: noon}
		}, Renounce},
		{"told to take over, and lost something", func(v *Input) {
			v.Self.State.Switch = &replication.Switch{From: "db-0", Promoting: true, Frozen: serverID(0) + ":1-101", Until: noon.Add(time.Second)}
		}, Renounce},
		{"two writers", func(v *Input) { v.Others[1].State.Writes = replication.Allowed }, Wait},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := replica()
			c.edit(&v)
			a := Repair(v)
			require.Equal(t, c.Kind, a.Kind, a.Reason)
		})
	}
}

func TestOrdinalsAreNumbers(t *testing.T) {
	a := topology.Member{Peer: engines.Peer{Pod: "db-10"}}
	b := topology.Member{Peer: engines.Peer{Pod: "db-9"}}
	require.Positive(t, topology.ByOrdinal(a, b))
	require.Equal(t, 12, replication.Ordinal("db-12.db.ns.svc:3307"))
}

func TestOlder(t *testing.T) {
	require.True(t, topology.Older("8.4.9", "8.4.10"))
	require.True(t, topology.Older("10.11.9-MariaDB-log", "10.11.19-MariaDB"))
	require.False(t, topology.Older("9.7.0", "8.4.3"))
	require.False(t, topology.Older("8.4.3-log", "8.4.3"))
	require.True(t, topology.Older("", "8.4.3"))
}
