// Package model is a FoundationDB cluster as values: who is there, what lies on which volume, what is excluded, what
// moves, and what becomes of it as virtual time goes on. It does no input or output, draws no chance of its own, and
// never ranges over a map where the order shows, so that the same calls give the same cluster.
//
// Invariants, each with a test in invariants_test.go:
//
//   - A shard has at most one copy on a storage server, and no two complete copies of a shard that moved by itself are in
//     one zone.
//   - Copies appear only by being copied from a copy that lives.
//   - What is excluded is emptied as soon as enough other zones can hold it, and then stays empty.
//   - Nothing is computed for Truth from what status says.
package model

import (
	"slices"
	"time"
)

// Cluster is a cluster at an instant. All of it can be written as JSON.
type Cluster struct {
	Description string
	ID          string   // of the connection string; changes with the coordinators
	Keys        []string // of all connection strings that it ever had; old coordinators show the way
	Version     Version
	Redundancy  Redundancy
	Now         time.Duration // virtual, since the cluster was made
	Pace        Pace

	Processes []*Process // oldest first
	Servers   []*Server  // storage servers
	Shards    []*Shard
	Seats     []Seat // of coordinators

	Generations []*Generation // of logs, oldest first; the last one is current
	Recovery    Recovery
	Logs        int // wanted in a generation

	Excluded    []string // targets as they were given: IP, IP:port, locality_key:value
	Failed      []string // the same, excluded as failed
	Maintenance Maintenance
	Distributor Distributor
	// IgnoreFailures is what datadistribution disable ssfailure asks for: no storage server counts as failed.
	IgnoreFailures bool
	// LockUID is whose lock is on the database, or "".
	LockUID string
	// Unresolved are host names that lead nowhere now.
	Unresolved []string
	// Origin is the time of day, in seconds since 1970, when Now was zero.
	Origin float64
	// Skipped is how much of Now did not go by in real time. Uptimes are without it: no process is older than its pod.
	Skipped time.Duration
	// Messages are the messages of cluster.messages, as a fault; see Say.
	Messages []string

	Lost     int // writes that were acknowledged, and are nowhere
	Sequence int // of identities and writes

	// still says that the last tick changed nothing.
	still bool
}

// Process is one fdbserver, whether it runs or not.
type Process struct {
	Instance string // locality instance_id: the pod
	Address  string // ip:port
	Host     string // name:port by which it is also reached, or ""
	Zone     string
	Machine  string
	DC       string
	Hall     string
	Class    Class
	Version  Version

	Volume string // identity of what its data directory is on
	Disk   int64  // bytes that fit there
	Up     bool
	// Since is when it came up, or went away; Skipped is what had been skipped by then.
	Since   time.Duration
	Skipped time.Duration
	// Messages are the messages of the process: io_error, io_timeout. A process never takes back its latest error.
	Messages []string
	// MessagesAt is when it had that error.
	MessagesAt time.Duration
	// Vacant says since when it could be a storage server and is none; zero when it is, or could not.
	Vacant time.Duration
	// Command is how it was started.
	Command string
}

// Class is a process class.
type Class string

// The classes that matter here.
const (
	Unset       Class = "unset"
	Storage     Class = "storage"
	LogClass    Class = "log"
	Transaction Class = "transaction"
	Stateless   Class = "stateless"
	CoordClass  Class = "coordinator"
)

// stores reports whether the class takes storage at any time; see storesInNeed.
func (c Class) stores() bool { return c == Unset || c == Storage }

// storesInNeed are the classes that take storage when there are too few zones with storage else.
func (c Class) storesInNeed() bool { return c == LogClass || c == Transaction }

// logs reports whether the class can have a log, if only when nothing better is to be had.
func (c Class) logs() bool { return c == Unset || c == LogClass || c == Transaction || c == Storage }

// Server is a storage server: the copies that a process has on one volume. It is in the cluster's list until nothing is
// counted on it any more, whether its process is there or not.
type Server struct {
	ID      int
	Process string // instance
	Volume  string
	Address string // where it was last
	// Gone says since when it is not there; zero while it is.
	Gone time.Duration
	// Begun is when it was made.
	Begun time.Duration
}

// Shard is a part of the data.
type Shard struct {
	Bytes  int64
	Copies []Copy
	Data   map[string]Write
	// Leaving is a server whose copy is to be given up, for balance, or 0.
	Leaving int
}

// Copy is the copy of a shard on a storage server; whole when all bytes are there.
type Copy struct {
	Server int
	Done   int64
}

// Seat is a coordinator: an address of the connection string, and where its state was last written.
type Seat struct {
	Address string // ip:port, or name:port
	Process string
	Volume  string
}

// Maintenance is the maintenance of one zone.
type Maintenance struct {
	Zone  string
	Until time.Duration
}

// Pace is how long things take. What is said of a real server is 7.1.68 in the recordings; the package recordings holds
// the simulation to them.
type Pace struct {
	Register   time.Duration // for which a process that started is listed without its locality
	Notice     time.Duration // for which one that went away is listed without its locality
	Heal       time.Duration // until a storage server that is unavailable counts as failed
	Initialize time.Duration // for which a data distributor that has just begun does nothing
	Look       time.Duration // between two reports of the data distributor, which is what status shows of the data
	Enlist     time.Duration // until a process that could be a storage server becomes one
	Recover    time.Duration // a recovery, at best
	Retire     time.Duration // until an old generation of logs is not needed, at best
	Durable    time.Duration // until a write is not only in logs
	BytesPerS  int64         // that move to one server
	// StatusDelay is how much later a status is answered while a recovery is under way. The real one was seen to take 6.7 s.
	StatusDelay time.Duration
}

// DefaultPace is that of a small idle cluster.
var DefaultPace = Pace{
	Register: 2 * time.Second, Notice: 4 * time.Second, Heal: 65 * time.Second, Initialize: 35 * time.Second, Look: 10 * time.Second,
	Enlist: 18 * time.Second, Recover: 3 * time.Second, Retire: 8 * time.Second, Durable: 5 * time.Second, BytesPerS: 50 << 20,
}

// Process finds a process by its instance, or gives nil.
func (c *Cluster) Process(instance string) *Process {
	for _, p := range c.Processes {
		if p.Instance == instance {
			return p
		}
	}
	return nil
}

// Server finds a storage server, or gives nil.
func (c *Cluster) Server(id int) *Server {
	for _, s := range c.Servers {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// joined reports whether the process is up and speaks the cluster's protocol.
func (c *Cluster) joined(p *Process) bool { return p.Up && p.Version.SameLine(c.Version) }

// alive reports whether a storage server runs.
func (c *Cluster) alive(s *Server) bool {
	p := c.Process(s.Process)
	return p != nil && c.joined(p) && p.Volume == s.Volume
}

// kept reports whether what a storage server stored still lies on a volume.
func (c *Cluster) kept(s *Server) bool {
	p := c.Process(s.Process)
	return p != nil && p.Volume == s.Volume
}

func (c *Cluster) zoneOf(s *Server) string {
	if p := c.Process(s.Process); p != nil {
		return p.Zone
	}
	return ""
}

// serverOf is the storage server of a process on its volume of now, or nil.
func (c *Cluster) serverOf(p *Process) *Server {
	for _, s := range c.Servers {
		if s.Process == p.Instance && s.Volume == p.Volume {
			return s
		}
	}
	return nil
}

func (s *Shard) whole(copy Copy) bool { return copy.Done >= s.Bytes }

func (s *Shard) on(server int) bool {
	return slices.ContainsFunc(s.Copies, func(c Copy) bool { return c.Server == server })
}

func (s *Shard) drop(server int) {
	s.Copies = slices.DeleteFunc(s.Copies, func(c Copy) bool { return c.Server == server })
}

// Say sets the messages of cluster.messages, besides those that the cluster's state gives.
func (c *Cluster) Say(names ...string) { c.Messages = names }

func (c *Cluster) next() int {
	c.Sequence++
	return c.Sequence
}

// Clone is a deep copy.
func (c *Cluster) Clone() *Cluster {
	d := *c
	d.Processes = cloneAll(c.Processes)
	for _, p := range d.Processes {
		p.Messages = slices.Clone(p.Messages)
	}
	d.Servers = cloneAll(c.Servers)
	d.Shards = cloneAll(c.Shards)
	for _, s := range d.Shards {
		s.Copies = slices.Clone(s.Copies)
		s.Data = cloneData(s.Data)
	}
	d.Generations = cloneAll(c.Generations)
	for _, g := range d.Generations {
		g.Logs = slices.Clone(g.Logs)
		g.Pending = slices.Clone(g.Pending)
	}
	d.Keys, d.Seats, d.Excluded, d.Failed, d.Messages = slices.Clone(c.Keys), slices.Clone(c.Seats), slices.Clone(c.Excluded), slices.Clone(c.Failed), slices.Clone(c.Messages)
	d.Unresolved = slices.Clone(c.Unresolved)
	d.Recovery.Roles = slices.Clone(c.Recovery.Roles)
	return &d
}

func cloneAll[T any](in []*T) []*T {
	if in == nil {
		return nil
	}
	out := make([]*T, len(in))
	for i, x := range in {
		y := *x
		out[i] = &y
	}
	return out
}
