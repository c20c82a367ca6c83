package foundationdb

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// status is what status json says, as far as decisions need it. Pointers are nil
// where it says nothing.
type status struct {
	available       *bool
	quorumReachable *bool
	coordinators    []coordinator
	clientMessages  []message

	connection   string // of the database that answered
	generation   int64
	redundancy   string
	regions      int
	primaryDC    string // the active one
	excluded     []string
	recovery     string // name of the phase
	generations  *int   // active ones
	recoveredAge *float64
	dataState    string
	trackers     []tracker
	logs         []logSet
	messages     []message
	maintenance  string // the zone
	remaining    float64
	entries      int       // of processes, with those that are none
	processes    []process // in the order of their instances, then of their addresses
	tolerance    tolerance
	disabled     disabled
	locked       bool
	lockedBy     string  // the UID of the lock
	limitedBy    message // why the database takes fewer transactions than it could
	clock        float64 // of the cluster controller, in seconds; 0 means unknown

	// What does not come from the document: the list of storage servers, and what the memory knows
	// of coordinators without a process.
	list   serverList
	owners map[string]remembered // by address, of those whose pod is known
	coming map[string]bool       // by address, of those that nobody has had for a moment only
	absent []remembered          // pods that were listed before and are not
}

// tolerance is how many more zones may fail, by the database's own count.
type tolerance struct{ data, availability *int }

// least is the smaller figure; false when one of them is not said.
func (t tolerance) least() (int, bool) {
	if t.data == nil || t.availability == nil {
		return 0, false
	}
	return min(*t.data, *t.availability), true
}

// disabled says which part of data distribution a person has turned off. What it would notice,
// nobody notices then, and the document goes on saying what was true before. There is a third
// switch, data_distribution_disabled_for_rebalance, which stops only the moves for an even load: a
// server that fails is noticed and its copies are made again, so it is no reason to hold anything.
type disabled struct{ all, failures bool }

// words says what is disabled and what enables it; empty means nothing.
func (d disabled) words() string {
	switch {
	case d.all:
		return "data distribution is disabled: lost copies are neither noticed nor made again; say `datadistribution on`"
	case d.failures:
		return "data distribution is disabled for failures of storage servers: lost copies are neither noticed nor made again; say `datadistribution enable ssfailure`"
	}
	return ""
}

// message is what the database, or a client of it, says of itself.
type message struct{ name, description string }

// words are the name, with the description where there is one.
func (m message) words() string {
	if m.description == "" {
		return engines.OneLine(m.name)
	}
	return engines.OneLine(m.name + ": " + strings.TrimSuffix(m.description, "."))
}

// coordinator is a seat of the quorum.
type coordinator struct {
	address   string
	reachable *bool
}

// tracker watches the teams that hold the data of one region.
type tracker struct {
	primary  *bool
	replicas *int // of the worst shard
}

// logSet is one generation of logs.
type logSet struct {
	current *bool
	losing  bool
	dead    []string // ids of its logs that do not answer
	// local, remote, satellite: how many zones may still fail, of logs in so many.
	local, remote, satellite logTolerance
}

type logTolerance struct {
	tolerance, factor *int
	anti              int // how many logs need not have a mutation
}

// process is one fdbserver.
type process struct {
	address  string
	instance string // the pod
	zone     string
	hall     string
	dc       string
	dns      string
	class    string
	version  string
	uptime   *float64
	excluded *bool
	roles    []string
	stored   int64
	ids      []roleID // of its storage servers and logs
	lag      float64  // seconds of the worst storage server
	problems []problem
	fails    message // what keeps it from serving now
	// rolesKnown means that the document lists roles, if only none.
	rolesKnown bool
}

// roleID is a storage server or a log by its id.
type roleID struct {
	role, id string
	answers  bool // there are figures of it
}

// problem is what a process said of itself at some time. It is said until the process ends, however
// long ago it was.
type problem struct {
	message
	at float64 // in seconds; 0 means unknown
}

func (p *process) has(role string) bool { return slices.Contains(p.roles, role) }

// mayHave reports whether the process has the role, or its roles are unknown.
func (p *process) mayHave(role string) bool { return !p.rolesKnown || p.has(role) }

// plainAddress is an address without how it was found: "10.0.0.1:4500(fromHostname)".
func plainAddress(text string) string {
	text, _, _ = strings.Cut(text, "(")
	return text
}

// endpoint is an address as exclude wants it, without what it says of TLS.
func endpoint(address string) string { return strings.TrimSuffix(plainAddress(address), ":tls") }

// ipOf is the IP of an address.
func ipOf(address string) string {
	host, _, err := net.SplitHostPort(endpoint(address))
	if err != nil {
		return ""
	}
	return host
}

// of returns the processes of a pod.
func (s *status) of(instance string) []process {
	var out []process
	for _, p := range s.processes {
		if p.instance == instance && instance != "" {
			out = append(out, p)
		}
	}
	return out
}

// at is the process at an address, whatever it says of TLS.
func (s *status) at(address string) *process {
	for i := range s.processes {
		if endpoint(s.processes[i].address) == endpoint(address) {
			return &s.processes[i]
		}
	}
	return nil
}

func (s *status) sort() {
	sorted.By(s.processes, func(a, b process) int {
		return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.address, b.address))
	})
	slices.Sort(s.excluded)
}

func is(b *bool) bool { return b != nil && *b }

// copies is how many copies of a shard there are when nothing is missing; false
// for a mode that is not known.
func (s *status) copies() (int, bool) {
	switch s.redundancy {
	case "single":
		return 1, true
	case "double", "three_datacenter_fallback", "three_data_hall_fallback":
		return 2, true
	case "triple", "three_data_hall", "three_datacenter":
		return 3, true
	}
	return 0, false
}

// forbidden are messages during which nothing may be taken away.
var forbidden = []string{"unreadable_configuration", "full_replication_timeout", "storage_servers_error", "log_servers_error"}

// nearlyFull are why the database is slow when a disk is.
var nearlyFull = []string{
	"storage_server_min_free_space", "storage_server_min_free_space_ratio", "log_server_min_free_space", "log_server_min_free_space_ratio",
}

// incomplete are messages with which the database says that its document lacks
// something of what is there.
var incomplete = []string{"status_incomplete", "unreachable_processes"}

// settling returns why the document may be incomplete; empty means that it is complete. The cluster
// controller hears of processes from themselves: after a recovery, not of all of them at once.
func (s *status) settling() string {
	if why := s.recoveringYet(); why != "" {
		return why
	}
	for _, m := range s.messages {
		if slices.Contains(incomplete, m.name) {
			return "the database says " + m.words()
		}
	}
	return ""
}

// accepting are the phases of a recovery in which the database is available. In the last but one it
// stays for as long as some storage server has not read what is in the old logs, so as long as one
// is unavailable: what is safe meanwhile follows from the logs.
var accepting = []string{"accepting_commits", "all_logs_recruited", "storage_recovered", fullyRecovered}

// recoveringYet returns why the database is not known to be available again; empty means that it is.
func (s *status) recoveringYet() string {
	if s.recovery == "" || s.generations == nil || !slices.Contains(accepting, s.recovery) {
		return s.recovering()
	}
	return ""
}

// recovering returns why a recovery is, or may be, under way; empty means that none is.
func (s *status) recovering() string {
	switch {
	case s.recovery == "" || s.generations == nil:
		return "the status does not say how far the recovery is"
	case s.recovery != fullyRecovered || *s.generations != 1:
		return fmt.Sprintf("a recovery is under way: %s, %d generations of logs", engines.OneLine(s.recovery), *s.generations)
	}
	return ""
}

// alarm returns the first of these messages that the database raises, with its description.
func (s *status) alarm() string {
	for _, m := range s.messages {
		if slices.Contains(forbidden, m.name) {
			return m.words()
		}
	}
	return ""
}

// zoneOf is the fault domain of a pod; false when it is not known, or not one.
func (s *status) zoneOf(instance string) (string, bool) {
	zone := ""
	for i, p := range s.of(instance) {
		if p.zone == "" || i > 0 && p.zone != zone {
			return "", false
		}
		zone = p.zone
	}
	return zone, zone != ""
}
