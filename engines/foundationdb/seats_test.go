package foundationdb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

var realNow = time.Date(2026, 11, 24, 19, 0, 0, 0, time.UTC)

// playing is an engine of whose database a recorded document tells; what it is told to do is kept,
// and done by nobody. A second document is told after that.
func playing(t *testing.T, name string, o Options, after ...string) (*Engine, func() []string) {
	text, err := os.ReadFile(filepath.Join(recordings(t), "status-"+name+".json"))
	require.NoError(t, err)
	return telling(t, string(text), o, after...)
}

func telling(t *testing.T, document string, o Options, after ...string) (*Engine, func() []string) {
	e, dir := tellingIn(t, document, o)
	for _, next := range after {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "next.json"), []byte(next), 0o600))
	}
	return e, func() []string { return callsIn(t, dir) }
}

// tellingIn returns the folder of the program: what it prints for its first call is said.1 there.
func tellingIn(t *testing.T, document string, o Options) (*Engine, string) {
	e, dir := scripted(t, `case "$4" in
"status json; "*getrangekeys*) echo look >>$d/looks; echo ">>> status json"; cat $d/status.json; echo; cat $d/keys ;;
*) echo "$4" >>$d/calls
   if [ -e $d/next.json ]; then mv $d/next.json $d/status.json; fi
   cat $d/said.$(wc -l <$d/calls) 2>/dev/null || echo "Coordination state changed" ;;
esac
`, func(all *Options) {
		all.Instance, all.Recovered = o.Instance, time.Nanosecond
		cluster, description := all.ClusterFile, "fdb"
		if _, rest, ok := strings.Cut(document, `"connection_string"`); ok {
			description, _, _ = strings.Cut(strings.Trim(rest, ` :"`), ":")
		}
		require.NoError(t, os.Remove(cluster))
		require.NoError(t, os.WriteFile(cluster, []byte(description+":abc@127.0.0.1:4500\n"), 0o400))
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "status.json"), []byte(document), 0o600))
	s, err := decodeStatus(strings.NewReader(document))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "keys"), []byte(printedKeys(listed(s).ids...)), 0o600))
	return e, dir
}

func callsIn(t *testing.T, dir string) []string {
	data, err := os.ReadFile(filepath.Join(dir, "calls"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// five is a cluster with a process in each of five zones, whose coordinators are the first three.
func five(seats ...string) snapshot {
	yes, no := true, false
	var p []process
	var c []coordinator
	for i, instance := range []string{"fdb-0", "fdb-1", "fdb-2", "fdb-3", "fdb-4"} {
		p = append(p, process{
			instance: instance, address: "10.0.0." + string(rune('0'+i)) + ":4500", dns: instance + ".fdb", zone: "z" + instance, class: "storage",
			version: "7.1.68", excluded: &no, rolesKnown: true,
		})
	}
	for _, seat := range seats {
		c = append(c, coordinator{address: seat, reachable: &yes})
	}
	return snapshot{status: &status{connection: "fdb:abc@" + strings.Join(seats, ","), coordinators: c, processes: p}}
}

// TestSeatsByName checks that seats stay as they are named, and a new one is named as they are.
func TestSeatsByName(t *testing.T) {
	move := func(s snapshot, node string) ([]string, string) {
		now, why := s.seatList()
		if why != "" {
			return nil, why
		}
		leaving, why := s.leaving(node, now)
		if why != "" {
			return nil, why
		}
		return s.seatsWithout(leaving, now, nil)
	}
	for name, tt := range map[string]struct {
		s    snapshot
		want string
	}{
		"names":            {five("fdb-0.fdb:4500", "fdb-1.fdb:4500", "fdb-2.fdb:4500"), "fdb-3.fdb:4500 fdb-1.fdb:4500 fdb-2.fdb:4500"},
		"addresses":        {five("10.0.0.0:4500", "10.0.0.1:4500", "10.0.0.2:4500"), "10.0.0.3:4500 10.0.0.1:4500 10.0.0.2:4500"},
		"TLS":              {five("fdb-0.fdb:4500:tls", "fdb-1.fdb:4500:tls", "fdb-2.fdb:4500:tls"), "fdb-3.fdb:4500:tls fdb-1.fdb:4500:tls fdb-2.fdb:4500:tls"},
		"TLS of addresses": {five("10.0.0.0:4500:tls", "10.0.0.1:4500:tls", "10.0.0.2:4500:tls"), "10.0.0.3:4500:tls 10.0.0.1:4500:tls 10.0.0.2:4500:tls"},
		"others are names": {five("10.0.0.0:4500", "fdb-1.fdb:4500", "fdb-2.fdb:4500"), "fdb-3.fdb:4500 fdb-1.fdb:4500 fdb-2.fdb:4500"},
		"the only one":     {five("fdb-0.fdb:4500"), "fdb-1.fdb:4500"},
		"a longer name":    {five("fdb-0.fdb.prod.svc:4500", "fdb-1.fdb.prod.svc:4500", "fdb-2.fdb.prod.svc:4500"), "fdb-3.fdb:4500 fdb-1.fdb.prod.svc:4500 fdb-2.fdb.prod.svc:4500"},
		"resolved by client": {func() snapshot {
			s := five("fdb-0.fdb:4500", "fdb-1.fdb:4500", "fdb-2.fdb:4500")
			for i := range s.coordinators {
				s.coordinators[i].address = s.processes[i].address + "(fromHostname)"
			}
			return s
		}(), "fdb-3.fdb:4500 fdb-1.fdb:4500 fdb-2.fdb:4500"},
	} {
		next, why := move(tt.s, "fdb-0")
		require.Empty(t, why, name)
		require.Equal(t, tt.want, strings.Join(next, " "), name)
	}
	for name, tt := range map[string]struct {
		s    func() snapshot
		want string
	}{
		"one is dropped": {func() snapshot {
			s := five("fdb-0.fdb:4500", "fdb-1.fdb:4500", "fdb-2.fdb:4500")
			s.coordinators = s.coordinators[:2]
			return s
		}, "names 3 coordinators and the status lists 2"},
		"resolved":  {func() snapshot { return five("10.0.0.0:4500(fromHostname)", "10.0.0.1:4500", "10.0.0.2:4500") }, "must be host:port"},
		"two words": {func() snapshot { return five("10.0.0.0:4500;kill", "10.0.0.1:4500") }, "must be host:port"},
		"not told":  {func() snapshot { s := five("10.0.0.0:4500"); s.connection = ""; return s }, "does not name the coordinators"},
		"no host name": {func() snapshot {
			s := five("fdb-0.fdb:4500", "fdb-1.fdb:4500", "fdb-2.fdb:4500")
			s.processes[3].dns, s.processes[4].dns = "", ""
			return s
		}, "start fdbserver with --locality_dns_name"},
		"nobody is left": {func() snapshot {
			s := five("fdb-0.fdb:4500", "fdb-1.fdb:4500", "fdb-2.fdb:4500")
			s.processes = s.processes[:3]
			return s
		}, "no process in a zone with room"},
		"a name of nobody": {func() snapshot {
			s := five("fdb-0.fdb:4500", "coordinator-b:4500", "fdb-2.fdb:4500")
			s.coordinators[1].address = "10.0.0.1:4500"
			return s
		}, "whether coordinator coordinator-b:4500 of coordinator-b answers is not known"},
	} {
		next, why := move(tt.s(), "fdb-0")
		require.Contains(t, why, tt.want, name)
		require.Empty(t, next, name)
	}
}

// TestSeatsInFewZones checks that where zones are fewer than coordinators a seat moves all the same,
// to where fewest are.
func TestSeatsInFewZones(t *testing.T) {
	s := five("10.0.0.0:4500", "10.0.0.1:4500", "10.0.0.2:4500")
	for i, zone := range []string{"a", "a", "b", "a", "b"} {
		s.processes[i].zone = zone
	}
	next, why := s.seatsWithout([]string{"10.0.0.1:4500"}, []string{"10.0.0.0:4500", "10.0.0.1:4500", "10.0.0.2:4500"}, nil)
	require.Empty(t, why)
	require.Equal(t, []string{"10.0.0.0:4500", "10.0.0.3:4500", "10.0.0.2:4500"}, next)
}

// TestSeatWhileAnotherIsDead checks that the order waits and names the dead one, or moves both seats
// in one change where a mark says that Rollcall replaces that pod, too.
func TestSeatWhileAnotherIsDead(t *testing.T) {
	no := false
	now := []string{"10.0.0.0:4500", "10.0.0.1:4500", "10.0.0.2:4500"}
	dead := func() snapshot {
		s := five(now...)
		s.coordinators[1].reachable = &no
		s.last = map[string]whereabouts{"fdb-1": {endpoints: []string{"10.0.0.1:4500"}, at: realNow}, "former": {endpoints: []string{"10.0.0.1:4500"}, at: realNow.Add(-time.Hour)}}
		s.processes = append(s.processes[:1:1], s.processes[2:]...)
		return s
	}
	s := dead()
	_, wait := s.leaving("fdb-0", now)
	require.Contains(t, wait, "coordinator 10.0.0.1:4500 of fdb-1 does not answer")
	require.Contains(t, wait, "or replace its pod as well")
	leaving, wait := s.leaving("fdb-1", now)
	require.Empty(t, wait, "its own may be dead")
	require.Equal(t, []string{"10.0.0.1:4500"}, leaving)

	s.excluded = []string{"locality_rollcall:other/fdb-1"}
	leaving, wait = s.leaving("fdb-0", now)
	require.Empty(t, wait)
	next, why := s.seatsWithout(leaving, now, nil)
	require.Empty(t, why)
	require.Equal(t, []string{"10.0.0.3:4500", "10.0.0.4:4500", "10.0.0.2:4500"}, next)

	s = dead()
	s.last = nil
	_, wait = s.leaving("fdb-0", now)
	require.Contains(t, wait, "of a pod that is not known does not answer")
}

// TestRecordedSeats checks the same on documents of a real server, with fdbcli's own refusal.
func TestRecordedSeats(t *testing.T) {
	for name, want := range map[string]string{
		"01-healthy":           "127.0.0.1:4903 127.0.0.1:4904 127.0.0.1:4905",
		"10-coordinator-moved": "127.0.0.1:4900 127.0.0.1:4904 127.0.0.1:4905",
	} {
		seats, why := realStatus(t, name).seatList()
		require.Empty(t, why, name)
		require.Equal(t, want, strings.Join(seats, " "), name)
	}
	for i := range 9 {
		s := realSnapshot(t, "11-log-coordinator-killed-8-073s")
		pod := "fdb-" + string(rune('0'+i))
		require.Equal(t, i >= 3 && i <= 5, s.sits(pod, []string{"127.0.0.1:4903", "127.0.0.1:4904", "127.0.0.1:4905"}), pod)
	}
	s := realSnapshot(t, "11-log-coordinator-killed-8-073s")
	seats, why := s.seatList()
	require.Empty(t, why)
	_, wait := s.leaving("fdb-3", seats)
	require.Contains(t, wait, "coordinator 127.0.0.1:4904 of fdb-4 does not answer")
	leaving, wait := s.leaving("fdb-4", seats)
	require.Empty(t, wait)
	next, why := s.seatsWithout(leaving, seats, nil)
	require.Empty(t, why)
	require.Equal(t, []string{"127.0.0.1:4903", "127.0.0.1:4901", "127.0.0.1:4905"}, next)
}

// TestSeatIsReadBack checks that a new document says what became of the change.
func TestSeatIsReadBack(t *testing.T) {
	now := []string{"10.8.0.10:4500", "10.8.0.11:4500", "10.8.0.13:4500"}
	for after, want := range map[string]string{
		"10.8.0.12:4500,10.8.0.11:4500,10.8.0.13:4500": "its seat among the coordinators moved to another pod",
		"10.8.0.11:4500,10.8.0.12:4500,10.8.0.13:4500": "its seat among the coordinators moved to another pod",
		strings.Join(now, ","):                         "and the status does not show it yet",
		"10.8.0.12:4500,10.8.0.11:4500,10.8.0.14:4500": "another change came in between: the coordinators were to be 10.8.0.12:4500, 10.8.0.11:4500, 10.8.0.13:4500, and are",
		"10.8.0.12:4500,10.8.0.11:4500":                "another change came in between",
		"":                                             "could not be read back yet",
	} {
		text := healthy(t).text()
		e, calls := telling(t, text, Options{Instance: "fdb-0"}, strings.ReplaceAll(text, strings.Join(now, ","), after))
		order := engines.Order{Kind: engines.Evacuate, Claim: "c"}
		p := apply(t, e, order, plan(t, e, order))
		require.Equal(t, engines.ProgressRunning, p.State)
		require.Contains(t, p.Detail, want, after)
		require.Equal(t, []string{"coordinators 10.8.0.12:4500 10.8.0.11:4500 10.8.0.13:4500"}, calls(), after)
		require.Equal(t, strings.HasSuffix(want, "to another pod"), strings.HasSuffix(p.Detail, "to another pod"), p.Detail)
	}
}
