package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func serverID(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", n+1) }

// seen is db-0 with two replicas that have all of it, seen by db-0.
func seen() input {
	lag := time.Duration(0)
	v := input{claim: "claim-1", wrote: true, limits: Limits{}.withDefaults(), refusals: map[string]string{}}
	v.now, v.maxLag, v.domains = noon, 10*time.Second, domains{"db": ".db.ns.svc"}
	v.self = member{known: true, peer: engines.Peer{Alive: true}, state: State{
		Node: "db-0", ID: serverID(0), Version: "8.4.3", Flavor: MySQL, Serving: true, Writes: Allowed, Executed: serverID(0) + ":1-100",
		SemiSync: SemiSync{Source: true, Acks: 1},
	}}
	for _, name := range []string{"db-1", "db-2"} {
		v.others = append(v.others, member{known: true,
			peer: engines.Peer{Pod: name, Node: name, Alive: true, Since: noon.Add(-time.Hour)},
			state: State{
				Node: name, ID: serverID(ordinal(name)), Version: "8.4.3", Flavor: MySQL, Serving: true, Writes: RefusedAtStart,
				Executed: serverID(0) + ":1-100", Received: serverID(0) + ":1-100", SemiSync: SemiSync{Replica: true},
				Source: &Source{Host: "db-0.db.ns.svc", Port: 3306, Receiving: true, Applying: true, Started: true, Lag: &lag},
			}})
	}
	return v
}

// frozen is the same after writes were stopped.
func frozen() input {
	v := seen()
	v.self.state.Writes = RefusedBySQL
	v.self.state.Switch = &Switch{Claim: "claim-1", At: noon, From: "db-0", Frozen: v.self.state.Executed, Until: noon.Add(30 * time.Second)}
	for i := range v.others {
		v.others[i].state.Switch = &Switch{Claim: "claim-1", At: noon, From: "db-0", Until: noon.Add(30 * time.Second)}
	}
	return v
}

// blank makes it a database to which nobody has written anything.
func blank(v *input) {
	v.self.state.Executed = "none"
	for i := range v.others {
		v.others[i].state.Executed, v.others[i].state.Received = "none", ""
	}
	if v.self.state.Switch != nil {
		v.self.state.Switch.Frozen = "none"
	}
}

// vacancy is all members after they were started again.
func vacancy() input {
	v := seen()
	v.claim, v.wrote = "", false
	v.self.state.Writes = RefusedAtStart
	return v
}

func TestNext(t *testing.T) {
	lag := 34 * time.Second
	none := time.Duration(0)
	for _, c := range []struct {
		name  string
		view  func() input
		edit  func(v *input)
		deed  deed
		to    string
		words string
	}{
		{"all is well", seen, func(*input) {}, start, "", "stopping writes"},
		{"nobody else", seen, func(v *input) { v.others = nil }, done, "", "nobody else is there"},
		{"replicas without agents", seen, func(v *input) { v.others, v.self.state.Replicas = nil, []Replica{{}} }, wait, "", "no other member is known"},
		{"a replica", seen, func(v *input) {
			v.wrote = false
			v.self, v.others[0] = v.others[0], v.self
			v.others[0].peer = engines.Peer{Pod: "db-0", Node: "db-0", Alive: true}
		}, done, "", "db-1 is a replica"},
		{"own server is silent", seen, func(v *input) { v.self.state.Serving = false }, wait, "", "does not serve"},
		{"all lag", seen, func(v *input) {
			v.others[0].state.Source.Lag, v.others[1].state.Source.Lag = &lag, nil
		}, wait, "", "db-1 lags 34s, how far db-2 lags is not known"},
		{"full disks", seen, func(v *input) {
			v.past = mark{noon.Add(-12 * time.Second), serverID(0) + ":1-90"}
			v.others[0].state.Executed, v.others[0].state.Received = serverID(0)+":1-89", serverID(0)+":1-89"
			v.others[1].state.Executed, v.others[1].state.Received = serverID(0)+":1-80", serverID(0)+":1-80"
		}, wait, "", "db-1 does not say that it lags, and lacks what db-0 had executed 12s ago: its disk may be full, or nothing reaches it, db-2 does not say that it lags"},
		{"nothing lacks what was long ago", seen, func(v *input) {
			v.past = mark{noon.Add(-12 * time.Second), serverID(0) + ":1-90"}
			v.others[0].state.Executed, v.others[0].state.Received = serverID(0)+":1-90", serverID(0)+":1-90"
			v.others[1].state.Executed, v.others[1].state.Received = serverID(0)+":1-89", serverID(0)+":1-90"
		}, start, "", ""},
		{"who does not receive does not acknowledge", seen, func(v *input) {
			v.past = mark{noon.Add(-12 * time.Second), serverID(0) + ":1-90"}
			v.others[1].state.Executed, v.others[1].state.Received = serverID(0)+":1-80", serverID(0)+":81-89"
		}, wait, "", "db-1 would have 0 of the 1 replicas that acknowledge a commit, db-2 does not say that it lags"},
		{"one lags", seen, func(v *input) { v.others[0].state.Source.Lag = &lag }, start, "", ""},
		{"appliers are stopped", seen, func(v *input) {
			v.others[0].state.Source.Failure, v.others[1].state.Source.Applying = "1062 duplicate", false
		}, wait, "", "db-1's replication is stopped: 1062 duplicate, db-2's applier is stopped"},
		{"errant", seen, func(v *input) {
			v.others[0].state.Executed += "," + serverID(1) + ":1"
			v.others[1].peer.Leaving = true
		}, wait, "", "db-1 has transactions that db-0 has not"},
		{"being stopped", seen, func(v *input) { v.others[0].peer.Leaving, v.others[1].peer.Alive = true, false }, wait, "", "db-1 is being stopped, db-2's agent is away"},
		{"not eligible", seen, func(v *input) { v.eligible = []string{"db-9"} }, wait, "", "db-1 is not to take over"},
		{"older", seen, func(v *input) {
			v.others[0].state.Version, v.others[1].state.Version = "8.4.2", "8.0.40"
		}, wait, "", "db-1 has version 8.4.2, older than 8.4.3"},
		{"newer", seen, func(v *input) { v.others[0].state.Version = "9.7.0" }, start, "", ""},
		{"too few acknowledge", seen, func(v *input) { v.others[1].state.Source.Receiving = false }, wait, "", "db-1 would have 0 of the 1 replicas"},
		{"never enough members to acknowledge", seen, func(v *input) { v.others = v.others[:1] }, start, "", ""},
		{"long write", seen, func(v *input) { v.self.state.Writing = 40 * time.Second }, wait, "", "open for 40s"},
		{"little time", seen, func(v *input) { v.notAfter = noon.Add(time.Second) }, wait, "", "too little time"},
		{"again soon", seen, func(v *input) { v.again, v.failed = noon.Add(5*time.Second), "writes did not end" }, wait, "", "writes did not end; next try in 5s"},
		{"starts writable", seen, func(v *input) { v.self.state.StartsWritable = true }, refused, "", "read_only"},
		{"filters", seen, func(v *input) {
			v.others[0].state.Source.Filtered, v.others[1].state.Source.Delay = true, time.Hour
		}, wait, "", "db-1 replicates by filters, so that it has not all of the data, db-2 replicates with a delay of 1h0m0s on purpose"},
		{"one filters", seen, func(v *input) { v.others[0].state.Source.Filtered, v.self.state.SemiSync = true, SemiSync{} }, start, "", ""},
		{"one filters, frozen", frozen, func(v *input) { v.others[0].state.Source.Filtered, v.self.state.SemiSync = true, SemiSync{} }, promote, "db-2", ""},
		{"an earlier agent has closed it", seen, func(v *input) { v.self.state.Writes = RefusedBySQL }, takeBack, "", "an earlier agent"},
		{"somebody else has closed it", seen, func(v *input) {
			v.self.state.Writes, v.closedElsewhere = RefusedBySQL, true
		}, wait, "", "db-0 was made read-only by somebody"},
		{"somebody else has closed it, and it is undone", seen, func(v *input) {
			v.self.state.Writes, v.closedElsewhere, v.undoing = RefusedBySQL, true, true
		}, done, "", "db-0 was made read-only by somebody"},
		{"others know of a try of its own", seen, func(v *input) {
			v.self.state.Writes, v.closedElsewhere = RefusedBySQL, true
			v.others[0].state.Switch = &Switch{Claim: "claim-1", At: noon, From: "db-0", Until: noon.Add(time.Second)}
		}, takeBack, "", "an earlier agent"},
		{"a replica says the whole name", seen, func(v *input) {
			v.self.state.Node = "db-0.db"
			v.others[0].state.Source.Host = "db-0.DB.ns.svc.cluster.local"
		}, start, "", ""},
		{"a namesake elsewhere", seen, func(v *input) {
			v.others = v.others[:1]
			v.others[0].state.Source.ID = serverID(9)
		}, wait, "", "db-1 follows db-0.db.ns.svc"},
		{"two writers", seen, func(v *input) { v.others[0].state.Writes, v.others[0].state.Source = Allowed, nil }, wait, "", "both allow writes"},

		{"nobody has written anything yet", seen, blank, start, "", ""},
		{"it has lost what the others have", seen, func(v *input) { v.self.state.Executed = "none" }, wait, "", "db-1 has transactions and db-0, which was made anew or has lost them, has none"},
		{"one of the others has something, nobody else", seen, func(v *input) {
			blank(v)
			v.others[1].state.Executed = serverID(2) + ":1"
		}, wait, "", "db-2 has transactions"},
		{"the others are new", seen, func(v *input) {
			v.others[0].state.Executed, v.others[1].state.Executed = "none", "none"
		}, wait, "", "db-1 has executed nothing yet, db-2 has executed nothing yet"},
		{"one of the others is new", seen, func(v *input) { v.others[0].state.Executed = "none" }, start, "", ""},
		{"positions are not known", seen, func(v *input) { v.self.state.Executed = "" }, wait, "", "db-0 does not tell by GTIDs what it has executed"},
		{"positions of the others are not known", seen, func(v *input) {
			v.others[0].state.Executed, v.others[1].state.Executed = "", ""
		}, wait, "", "db-1 cannot be compared: not a GTID position: it is not known"},
		{"those of an unwritten primary's others", seen, func(v *input) {
			blank(v)
			v.others[0].state.Executed, v.others[1].state.Executed = "", ""
		}, wait, "", "db-1 cannot be compared"},

		{"nothing is frozen", frozen, blank, promote, "db-1", ""},
		{"nothing is frozen, and of one nothing is known", frozen, func(v *input) {
			blank(v)
			v.others[0].state.Executed = ""
		}, promote, "db-2", ""},
		{"a new one has to catch up", frozen, func(v *input) {
			v.others[0].state.Executed, v.others[1].known = "none", false
			v.self.state.SemiSync = SemiSync{}
		}, catchUp, "db-1", ""},
		{"caught up", frozen, func(*input) {}, promote, "db-1", ""},
		{"catching up", frozen, func(v *input) {
			v.others[0].state.Executed, v.others[1].state.Executed = serverID(0)+":1-90", serverID(0)+":1-95"
			v.others[0].state.Source.Lag = &none
		}, catchUp, "db-2", ""},
		{"lag does not count any more", frozen, func(v *input) { v.others[0].state.Source.Lag = nil }, promote, "db-1", ""},
		{"nobody is left", frozen, func(v *input) { v.others[0].known, v.others[1].known = false, false }, takeBack, "", "nobody can take over any more"},
		{"too late", frozen, func(v *input) { v.now = noon.Add(29 * time.Second) }, takeBack, "", "in time"},
		{"taken back", frozen, func(v *input) { v.undoing = true }, takeBack, "", "given up"},
		{"stopped in the middle", frozen, func(v *input) { v.self.state.Switch.Frozen = "" }, takeBack, "", "not wholly stopped"},
		{"taken over", frozen, func(v *input) { v.others[0].state.Writes, v.others[0].state.Source = Allowed, nil }, haveFollow, "db-1", "db-2 follows db-1"},
		{"followed by the others", frozen, func(v *input) {
			v.others[0].state.Writes, v.others[0].state.Source = Allowed, nil
			v.others[1].state.Source = &Source{Host: "db-1.db.ns.svc", Port: 3306, Started: true}
		}, follow, "db-1", "db-0 follows db-1"},
		{"followed by the old one", frozen, func(v *input) {
			v.others[0].state.Writes, v.others[0].state.Source = Allowed, nil
			v.self.state.Source = &Source{Host: "db-1.db.ns.svc", Port: 3306, Started: true}
		}, haveFollow, "db-1", "db-2 follows db-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.view()
			c.edit(&v)
			a := next(v)
			require.Equal(t, c.deed, a.deed, a.words)
			require.Equal(t, c.to, a.to)
			require.Contains(t, a.words, c.words)
		})
	}
}

// TestAsked: after somebody was told to take over, nothing but that goes on until
// it is known that it did not.
func TestAsked(t *testing.T) {
	asked := func() input {
		v := frozen()
		v.self.state.Switch.To, v.self.state.Switch.Promoting = "db-1", true
		return v
	}
	v := asked()
	require.Equal(t, promote, next(v).deed, "it is asked again")
	for _, when := range []time.Duration{0, time.Minute, time.Hour} {
		v = asked()
		v.now = noon.Add(when)
		v.others[0].known = false
		require.Equal(t, wait, next(v).deed, "nobody knows")
		v.others = v.others[1:]
		require.Equal(t, wait, next(v).deed, "nobody has heard of it")
		v = asked()
		v.now = noon.Add(when)
		v.others[0].state.Serving = false
		require.Equal(t, action{deed: takeBack, ask: []string{"db-1"}, words: "db-1 does not serve"}, next(v), "its agent may know")
		v.others[0].state.Switch.Promoting = true
		require.Equal(t, when > 0, next(v).deed == takeBack, "it has begun")
	}
	v = asked()
	v.now = noon.Add(time.Minute)
	require.Equal(t, action{deed: takeBack, ask: []string{"db-1"}, words: "db-1 did not take over"}, next(v))
	v.others[0].state.Executed += "," + serverID(1) + ":1"
	v.others[0].state.Source = nil
	require.Equal(t, follow, next(v).deed, "it took writes before it was started again")
}

// TestUnknownOpensNothing: one fact after the other is unknown, and no server
// begins to allow writes.
func TestUnknownOpensNothing(t *testing.T) {
	require.Equal(t, open, tended(vacancy()).deed, "what is known permits it")
	unknown := map[string]func(m *member){
		"not asked":                  func(m *member) { m.known = false },
		"not serving":                func(m *member) { m.state.Serving = false },
		"writes unknown":             func(m *member) { m.state.Writes = WritesUnknown },
		"allows writes":              func(m *member) { m.state.Writes = Allowed },
		"flavor unknown":             func(m *member) { m.state.Flavor = "" },
		"agent away":                 func(m *member) { m.peer.Alive = false },
		"agent new":                  func(m *member) { m.peer.Since = noon.Add(-time.Second) },
		"hands over":                 func(m *member) { m.state.Switch = &Switch{Claim: "c", From: "db-2", Until: noon.Add(time.Second)} },
		"takes over":                 func(m *member) { m.state.Switch = &Switch{Claim: "c", From: "db-0", Promoting: true} },
		"positions not known":        func(m *member) { m.state.Executed, m.state.Received = "", "" },
		"more was executed":          func(m *member) { m.state.Executed += "," + serverID(2) + ":1" },
		"more was received":          func(m *member) { m.state.Received = serverID(0) + ":1-101" },
		"follows outside":            func(m *member) { m.state.Source.Host = "elsewhere.example" },
		"made read-only by somebody": func(m *member) { m.state.Writes, m.state.Source = RefusedBySQL, nil },
	}
	for name, edit := range unknown {
		for i := range 2 {
			v := vacancy()
			edit(&v.others[i])
			require.NotEqual(t, open, tended(v).deed, name)
		}
	}
	v := vacancy()
	v.self.state.Executed = ""
	require.NotEqual(t, open, tended(v).deed, "what it has is not known")
	v = vacancy()
	v.self.state.Executed = "none"
	require.NotEqual(t, open, tended(v).deed, "it is new, and the others are not")
	v = vacancy()
	v.self.state.Writes = RefusedBySQL
	require.Equal(t, done, tended(v).deed, "somebody meant it")
	v = vacancy()
	v.others = nil
	require.Equal(t, done, tended(v).deed, "nobody else is known")
	for i := range 2 {
		v = frozen()
		v.self.state.Switch, v.wrote = nil, true
		v.others[i].known = false
		require.Equal(t, wait, next(v).deed, "an earlier agent may have told it to take over")
	}
}

func TestHeir(t *testing.T) {
	v := vacancy()
	v.self.state.Executed = serverID(0) + ":1-90"
	v.others[0].state.Source.Filtered = true
	name, why := v.heir()
	require.Equal(t, "db-2", name, why)
	v.others[1].state.Source.Filtered = true
	name, _ = v.heir()
	require.Empty(t, name, "the GTIDs are there, the data are not")
	require.Equal(t, engines.Running, v.copied("").State, "nobody is known to have all")
	v = vacancy()
	name, _ = v.heir()
	require.Equal(t, "db-0", name, "others follow it")
	blank(&v)
	require.Equal(t, open, tended(v).deed, "nobody has anything")
	v = vacancy()
	v.self.state.Executed = serverID(0) + ":1-90"
	name, _ = v.heir()
	require.Equal(t, "db-1", name, "the lowest of those that have all")
	v.others[1].state.Executed += "," + serverID(2) + ":1"
	v.others[0].state.Executed += "," + serverID(1) + ":1"
	name, why = v.heir()
	require.Empty(t, name, why)
}

func TestTended(t *testing.T) {
	replica := func() input {
		v := seen()
		v.self, v.others[0] = v.others[0], v.self
		v.others[0].peer = engines.Peer{Pod: "db-0", Node: "db-0", Alive: true, Since: noon.Add(-time.Hour)}
		return v
	}
	for _, c := range []struct {
		name string
		edit func(v *input)
		deed deed
	}{
		{"all is well", func(*input) {}, done},
		{"follows nobody", func(v *input) { v.self.state.Source = nil }, follow},
		{"follows another replica", func(v *input) { v.self.state.Source.Host = "db-2" }, follow},
		{"follows somebody outside", func(v *input) { v.self.state.Source.Host = "elsewhere" }, done},
		{"allows writes", func(v *input) { v.self.state.Writes = Allowed }, shut},
		{"not started", func(v *input) { v.self.state.Source.Started = false }, resume},
		{"stopped by somebody", func(v *input) { v.self.state.Source.Started, v.ran = false, true }, done},
		{"told to take over", func(v *input) {
			v.self.state.Switch = &Switch{From: "db-0", Promoting: true, Frozen: serverID(0) + ":1-100", Until: noon.Add(time.Second)}
		}, finish},
		{"told to take over, too late", func(v *input) {
			v.self.state.Switch = &Switch{From: "db-0", Promoting: true, Frozen: serverID(0) + ":1-100", Until: noon}
		}, renounce},
		{"told to take over, and lost something", func(v *input) {
			v.self.state.Switch = &Switch{From: "db-0", Promoting: true, Frozen: serverID(0) + ":1-101", Until: noon.Add(time.Second)}
		}, renounce},
		{"two writers", func(v *input) { v.others[1].state.Writes = Allowed }, wait},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := replica()
			c.edit(&v)
			a := tended(v)
			require.Equal(t, c.deed, a.deed, a.words)
		})
	}
}

func TestOrdinalsAreNumbers(t *testing.T) {
	a := member{peer: engines.Peer{Pod: "db-10"}}
	b := member{peer: engines.Peer{Pod: "db-9"}}
	require.Positive(t, byOrdinal(a, b))
	require.Equal(t, 12, ordinal("db-12.db.ns.svc:3307"))
}

func TestOlder(t *testing.T) {
	require.True(t, older("8.4.9", "8.4.10"))
	require.True(t, older("10.11.9-MariaDB-log", "10.11.19-MariaDB"))
	require.False(t, older("9.7.0", "8.4.3"))
	require.False(t, older("8.4.3-log", "8.4.3"))
	require.True(t, older("", "8.4.3"))
}
