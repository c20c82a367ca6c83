package mysql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/server"
)

// txn is one transaction. Two of them may carry one GTID when a server has lost its
// tail; they are told apart by n.
type txn struct{ origin, seq, n int }

// simServer is a database server as far as a switchover can tell: what it has executed and
// received, which server it follows, whether clients can write.
type simServer struct {
	w       *simWorld
	name    string
	id      int
	up      bool
	hung    bool // for its agent
	gone    bool // for ever, with its agent, whatever else was to come back
	started time.Time

	log, relay []txn
	durable    int // of the log, and all of the relay
	writes     replication.Writes
	source     string // name; empty means none
	service    string // by which it is followed instead; empty means its name
	threads    bool
	failure    string
	semiSource bool
	semiSelf   bool
	pace       int // ticks that one transaction takes to apply
	// full means that its disk is full: it receives nothing, and reports that it has applied all.
	full bool
	// privileged sessions that may write while clients may not; the second comes right
	// after the first was ended.
	privileged int
}

var (
	errDown = errors.New("connection refused")
	errHung = errors.New("no answer in time")
)

// last returns the last transaction of a log; the zero value means that there is none.
func last(log []txn) txn {
	if len(log) == 0 {
		return txn{}
	}
	return log[len(log)-1]
}

// gtid is what a server knows a transaction by.
func (t txn) gtid() [2]int { return [2]int{t.origin, t.seq} }

// uuid returns a server_uuid as MySQL has it.
func uuid(id int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", id+1) }

// text returns the text of transactions in the notation of the flavor: no log has gaps.
func (w *simWorld) text(lists ...[]txn) string {
	last := make([]int, w.members)
	var order []int
	for _, list := range lists {
		for _, t := range list {
			last[t.origin] = t.seq
			if n := len(order); n == 0 || order[n-1] != t.origin {
				order = append(slices.DeleteFunc(order, func(o int) bool { return o == t.origin }), t.origin)
			}
		}
	}
	var items []string
	for _, o := range order {
		if w.flavor == replication.MySQL {
			items = append(items, fmt.Sprintf("%s:1-%d", uuid(o), last[o]))
		} else {
			items = append(items, fmt.Sprintf("0-%d-%d", o+1, last[o]))
		}
	}
	return strings.Join(items, ",")
}

// position returns the position of a server whose log is on.
func (w *simWorld) position(lists ...[]txn) string { return cmp.Or(w.text(lists...), gtid.None) }

func (w *simWorld) idOf(s *simServer) string {
	if w.flavor == replication.MySQL {
		return uuid(s.id)
	}
	return fmt.Sprint(s.id + 1)
}

// source that is up and connected, for a server whose threads run.
func (s *simServer) connected() *simServer {
	if !s.up || !s.threads || s.source == "" || s.failure != "" {
		return nil
	}
	if from := s.w.servers[s.source]; from != nil && from.up {
		return from
	}
	return nil
}

// write is what a client does.
func (s *simServer) write() txn {
	t := txn{origin: s.id, n: s.w.nextN()}
	for _, o := range s.log {
		if s.w.flavor == replication.MariaDB || o.origin == s.id {
			t.seq = max(t.seq, o.seq)
		}
	}
	t.seq++
	s.log = append(s.log, t)
	return t
}

// replicate gets what the source has, and applies a little of it.
func (s *simServer) replicate() {
	if s.full {
		return
	}
	if from := s.connected(); from != nil {
		s.pull(from)
	}
	if s.up && s.threads && len(s.relay) > 0 && s.w.ticks%s.pace == 0 {
		s.log = append(s.log, s.relay[0])
		s.relay = s.relay[1:]
		s.durable = len(s.log)
	}
}

func (s *simServer) pull(from *simServer) {
	if newest := last(from.log); newest == (txn{}) || newest == cmp.Or(last(s.relay), last(s.log)) {
		return
	}
	have := map[[2]int]bool{}
	position := txn{}
	for _, list := range [][]txn{s.log, s.relay} {
		for _, t := range list {
			have[t.gtid()] = true
			position = t
		}
	}
	if s.w.flavor == replication.MariaDB && len(have) > 0 && !slices.ContainsFunc(from.log, func(t txn) bool { return t.gtid() == position.gtid() }) {
		s.failure = "1236: the source does not have the position"
		return
	}
	for _, t := range from.log {
		if !have[t.gtid()] {
			s.relay = append(s.relay, t)
		}
	}
}

// crash ends the server; what was not durable is gone where the disk loses it.
func (s *simServer) crash() {
	if s.w.losesTail && s.source == "" {
		s.log = s.log[:min(s.durable, len(s.log))]
	}
	s.up, s.hung = false, false
	s.w.note("%s crashes", s.name)
}

// boot starts it again: read-only by its configuration, replication goes on.
func (s *simServer) boot() {
	s.up, s.started, s.writes = true, time.Now(), s.w.startsAs(s.id)
	s.threads, s.failure = s.source != "" && !s.w.skipStart, ""
	s.semiSource = false
	s.w.note("%s is back", s.name)
}

func (s *simServer) state() replication.State {
	st := replication.State{
		Node: s.name, ID: s.w.idOf(s), Version: "8.4.3", Flavor: s.w.flavor, Serving: true, Looked: time.Now(), Started: s.started,
		Writes: s.writes, Executed: s.w.position(s.log), SemiSync: replication.SemiSync{Installed: s.w.acks > 0},
	}
	if s.w.acks > 0 {
		st.SemiSync.Source, st.SemiSync.Replica = s.semiSource, s.semiSelf
		if s.semiSource {
			st.SemiSync.Acks, st.SemiSync.Working = s.w.acks, true
			for _, other := range s.w.list {
				if other.source == s.name && other.semiSelf && other.connected() != nil {
					st.SemiSync.Clients++
				}
			}
		}
		st.SemiSync.Acknowledging = s.semiSelf && s.connected() != nil
	}
	if s.source != "" {
		src := s.w.servers[s.source]
		st.Received = s.w.text(s.log, s.relay)
		st.Source = &replication.Source{Host: cmp.Or(s.service, s.source+".db.ns.svc"), Port: 3306, ID: s.w.idOf(src), Receiving: s.connected() != nil,
			Applying: s.threads && s.failure == "", Started: s.threads, Failure: s.failure}
		if s.connected() != nil {
			lag := time.Duration(len(s.relay)) * 10 * time.Millisecond
			if s.full {
				lag = 0
			}
			st.Source.Lag = &lag
		}
	}
	for _, other := range s.w.list {
		if other.source == s.name && other.connected() != nil {
			st.Replicas = append(st.Replicas, replication.Replica{ID: s.w.idOf(other), Host: other.name, Port: 3306})
		}
	}
	s.w.stays.tell(s, &st)
	return st
}

// simConn is an agent's way to its server: each call is a boundary before and after
// its effect, and an agent that has ended has none.
type simConn struct {
	agent *simAgent
	life  int
}

func (c simConn) do(ctx context.Context, what string, f func(s *simServer) error) error {
	a := c.agent
	a.w.boundary()
	if err := c.check(ctx); err != nil {
		return err
	}
	a.w.writesToServer(a.server, what)
	err := f(a.server)
	a.w.note("%s: %s: %v", a.name, what, err)
	a.w.boundary()
	if late := c.check(ctx); late != nil {
		return late
	}
	return err
}

func (c simConn) check(ctx context.Context) error {
	switch {
	case c.life != c.agent.life || !c.agent.alive:
		return errDead
	case !c.agent.server.up:
		return errDown
	case c.agent.server.hung:
		return errHung
	}
	return ctx.Err()
}

func (c simConn) Look(ctx context.Context) (replication.State, error) {
	if err := c.check(ctx); err != nil {
		return replication.State{}, err
	}
	c.agent.w.tick()
	return c.agent.server.state(), nil
}

func (c simConn) StopWrites(ctx context.Context, _ time.Duration) error {
	if c.agent.w.busyOnce {
		c.agent.w.busyOnce = false
		return server.ErrBusy
	}
	return c.do(ctx, "stopWrites", func(s *simServer) error {
		s.writes = replication.RefusedBySQL
		if s.w.flavor == replication.MariaDB {
			s.privileged = 2
		}
		s.durable = len(s.log)
		return nil
	})
}

func (c simConn) AllowWrites(ctx context.Context) error {
	return c.do(ctx, "allowWrites", func(s *simServer) error {
		s.w.opens(s)
		s.writes = replication.Allowed
		return nil
	})
}

func (c simConn) DropClients(ctx context.Context) (int, error) {
	return 1, c.do(ctx, "dropClients", func(s *simServer) error {
		s.privileged = max(0, s.privileged-1)
		return nil
	})
}

// Awaits compares sequences only, as MariaDB does.
func (c simConn) Awaits(ctx context.Context, position string, within time.Duration) (ok bool, err error) {
	end := time.Now().Add(within)
	for {
		err = c.do(ctx, "awaits", func(s *simServer) error {
			ok, _ = gtid.AtLeast(s.w.flavor.Notation(), s.w.position(s.log), position)
			return nil
		})
		if ok || err != nil || !time.Now().Before(end) {
			return ok, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c simConn) Detach(ctx context.Context) error {
	return c.do(ctx, "detach", func(s *simServer) error {
		if s.threads = false; s.w.keepsSource && s.source != "" {
			return &server.Refusal{Number: 1227, Words: "needs RELOAD"}
		}
		s.source, s.service, s.failure, s.relay = "", "", "", nil
		return nil
	})
}

func (c simConn) Follow(ctx context.Context, host string, port int, _ bool) error {
	return c.do(ctx, "follow "+host, func(s *simServer) error {
		name, domain, _ := strings.Cut(host, ".")
		if s.w.servers[name] == nil || port != 3306 || domain != "db.ns.svc" {
			return fmt.Errorf("nobody is at %s:%d", host, port)
		}
		s.source, s.service, s.threads, s.failure, s.relay = name, "", true, "", nil
		return nil
	})
}

func (c simConn) StartFollowing(ctx context.Context) error {
	return c.do(ctx, "startFollowing", func(s *simServer) error {
		s.threads, s.failure = s.source != "", ""
		return nil
	})
}

func (c simConn) AcknowledgeAs(ctx context.Context, primary bool) error {
	return c.do(ctx, fmt.Sprintf("acknowledgeAs %v", primary), func(s *simServer) error {
		s.semiSource, s.semiSelf = primary && s.w.acks > 0, !primary && s.w.acks > 0
		return nil
	})
}

func (c simConn) ElectPrimary(context.Context, string) error { return errors.New("no group") }
