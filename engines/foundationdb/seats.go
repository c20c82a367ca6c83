package foundationdb

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// A seat is a coordinator as the connection string of the database names it: an address, or the
// name of a host. fdbcli's own list of coordinators is never used: it shows addresses in the place
// of names, and leaves out names that do not resolve.

// connectionSeats returns the seats as the document's connection string names them.
func (s *status) connectionSeats() ([]string, error) {
	c, err := parseConnection(s.connection)
	if err != nil {
		return nil, err
	}
	return strings.Split(c.coordinators, ","), nil
}

// seatList returns the seats, or why they are not known well enough to name all of them to fdbcli.
func (s *status) seatList() (seats []string, why string) {
	seats, err := s.connectionSeats()
	if err != nil {
		return nil, fmt.Sprintf("the connection string of the status does not name the coordinators: %v", err)
	}
	for _, seat := range seats {
		if _, _, err := net.SplitHostPort(strings.TrimSuffix(seat, ":tls")); err != nil || strings.ContainsFunc(seat, unfit) || strings.ContainsAny(seat, "()") {
			return nil, fmt.Sprintf("coordinator %q of the connection string must be host:port or host:port:tls", engines.OneLine(seat))
		}
	}
	if len(seats) != len(s.coordinators) {
		return nil, fmt.Sprintf("the connection string names %d coordinators and the status lists %d: no seat is moved before both are the same, as one would be lost", len(seats), len(s.coordinators))
	}
	return seats, ""
}

// moveSeat moves a coordinator's seat from the pod to another process. It names all coordinators as
// they are named already, so that nothing else moves and none is lost; coordinators auto would leave
// a seat where it is as long as its process is not excluded.
//
// All that are named must answer. So seats of other pods that do not answer move in the same change
// if Rollcall replaces these pods as well; else the order waits, and says for whom.
//
// It returns false when the pod turns out to have none: the owner of a seat that does not answer is
// known by its name only. (TestSeatsByName, TestSeatWhileAnotherIsDead).
func (e *Engine) moveSeat(ctx context.Context, order engines.Order, u undo, s snapshot, now []string) (engines.Progress, bool, error) {
	absent := len(s.of(u.Node)) == 0
	if seat := s.nobodys(u.Node, now); absent && seat != "" {
		return running("the coordinator %s cannot be reached, and nobody can tell whether it was in %s", engines.OneLine(seat), engines.OneLine(u.Node)), true, nil
	}
	if !s.sits(u.Node, now) {
		return running("%s is still told to be a coordinator, and the connection string names none that is known to be its: either the seat has just moved, or fdbserver needs --locality_dns_name", engines.OneLine(u.Node)), !absent, nil
	}
	leaving, wait := s.leaving(u.Node, now)
	if wait != "" {
		if absent {
			if progress, told, err := e.announce(ctx, order, u, s); told || err != nil {
				return progress, true, err
			}
		}
		return running("%s", wait), true, nil
	}
	next, why := s.seatsWithout(leaving, now, order.Eligible)
	if why != "" {
		return refused("%s", why), true, nil
	}
	if err := engines.InTime(order.NotAfter); err != nil {
		return engines.Progress{}, true, err
	}
	a, err := e.client.run(ctx, "coordinators "+strings.Join(next, " "))
	if err == nil {
		err = readSeatChange(a)
	}
	if err != nil {
		return engines.Progress{}, true, err
	}
	after, err := e.look(ctx)
	if ctx.Err() != nil {
		return engines.Progress{}, true, ctx.Err()
	}
	return running("its seat among the coordinators moved to another pod%s", after.seated(err, now, next)), true, nil
}

// announce puts an announcement on the exclusion list. It excludes nothing and stands for no entry,
// and tells the order of another dead coordinator's pod that this one is replaced as well.
func (e *Engine) announce(ctx context.Context, order engines.Order, u undo, s snapshot) (engines.Progress, bool, error) {
	told := announcement(u.Mark)
	if told == "" || s.lists(told) || s.lists(u.Mark) {
		return engines.Progress{}, false, nil
	}
	progress, err := e.exclude(ctx, order, []string{told})
	if progress.State == engines.ProgressRunning {
		progress.Detail = "other coordinators do not answer either, and the exclusion list tells by now that this pod is replaced"
	}
	return progress, true, err
}

// seated says what a new document shows of a change of the seats; empty means just that.
func (s snapshot) seated(err error, from, to []string) string {
	var seats []string
	if err == nil {
		seats, err = s.connectionSeats()
	}
	switch {
	case err != nil:
		return fmt.Sprintf("; it could not be read back yet: %v", err)
	case sameSeats(seats, to):
		return ""
	case sameSeats(seats, from):
		return ", and the status does not show it yet"
	}
	return fmt.Sprintf("; another change came in between: the coordinators were to be %s, and are %s", engines.Some(to), engines.Some(seats))
}

func sameSeats(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// missesSeat reports whether some coordinator does not answer, or is not known to.
func (s *status) missesSeat() bool {
	return slices.ContainsFunc(s.coordinators, func(c coordinator) bool { return !is(c.reachable) })
}

// nobodys returns a seat with an unknown owner: an address without a process, while the last
// address of the absent pod is unknown.
func (s snapshot) nobodys(node string, now []string) string {
	for _, seat := range now {
		if s.sitting(seat) == nil && s.owner(seat) == "" && len(s.last[node].endpoints) == 0 {
			return seat
		}
	}
	return ""
}

// seatName is the pod that a seat is named for: the first label of its host name, as pods of a
// StatefulSet have them. Empty means it is an address.
func seatName(seat string) string {
	host, _, err := net.SplitHostPort(endpoint(seat))
	if _, ip := netip.ParseAddr(host); err != nil || ip == nil {
		return ""
	}
	name, _, _ := strings.Cut(host, ".")
	return name
}

// leaves reports whether the seat belongs to the pod.
func (s snapshot) leaves(seat, node string) bool { return node != "" && s.owner(seat) == node }

// sits reports whether the pod has one of the seats.
func (s snapshot) sits(node string, seats []string) bool {
	return slices.ContainsFunc(seats, func(seat string) bool { return s.leaves(seat, node) })
}

// coordinates reports whether the document says that a process of the pod is a coordinator.
func (s *status) coordinates(node string) bool {
	return len(s.seats(node)) > 0 || slices.ContainsFunc(s.of(node), func(p process) bool { return p.has("coordinator") })
}

// owner is the pod of a seat: that of its process, or that it is named for, or whose process was
// there last. Empty means unknown.
func (s snapshot) owner(seat string) string {
	if p := s.sitting(seat); p != nil {
		return p.instance
	}
	if name := seatName(seat); name != "" {
		return name
	}
	owner := ""
	for instance, w := range s.last {
		if !slices.Contains(w.endpoints, endpoint(seat)) {
			continue
		}
		if owner == "" || cmp.Or(w.at.Compare(s.last[owner].at), cmp.Compare(owner, instance)) > 0 {
			owner = instance
		}
	}
	return owner
}

// leaving are the pod's seats, and those of dead coordinators whose pods Rollcall replaces, too.
// Otherwise it is said what the order waits for: while one that stays does not answer, FoundationDB
// refuses any change.
func (s snapshot) leaving(node string, now []string) (leaving []string, wait string) {
	for _, seat := range now {
		if s.leaves(seat, node) {
			leaving = append(leaving, seat)
			continue
		}
		pod := s.owner(seat)
		whose := cmp.Or(pod, "a pod that is not known")
		switch answers := s.answers(seat); {
		case is(answers):
		case pod != "" && s.replaces(pod):
			leaving = append(leaving, seat)
		case answers == nil:
			return nil, fmt.Sprintf("whether coordinator %s of %s answers is not known, so its seat could be lost if another one moved; coordinators that are named by host need --locality_dns_name",
				engines.OneLine(seat), engines.OneLine(whose))
		default:
			return nil, fmt.Sprintf("coordinator %s of %s does not answer, and FoundationDB moves no seat unless all coordinators that stay do: bring that one back, or replace its pod as well, or put another in its place with coordinators",
				engines.OneLine(seat), engines.OneLine(whose))
		}
	}
	return leaving, ""
}

// answers is what the document says of a seat; nil means nothing.
func (s *status) answers(seat string) *bool {
	p := s.behind(seat)
	for _, c := range s.coordinators {
		if endpoint(c.address) == endpoint(seat) || p != nil && s.sitting(c.address) == p {
			return c.reachable
		}
	}
	return nil
}

// replaces reports whether a mark on the exclusion list says that Rollcall replaces the pod.
func (s *status) replaces(pod string) bool {
	return slices.ContainsFunc(s.excluded, func(t string) bool {
		its, _ := marks(t, pod, nil)
		return its
	})
}

// behind is the process of a seat, also of one that is named for its pod by a name that the process
// does not have.
func (s *status) behind(seat string) *process {
	if p := s.sitting(seat); p != nil {
		return p
	}
	_, port, _ := net.SplitHostPort(endpoint(seat))
	for i := range s.processes {
		if p := &s.processes[i]; p.instance != "" && p.instance == seatName(seat) && strings.HasSuffix(endpoint(p.address), ":"+port) {
			return p
		}
	}
	return nil
}

// sitting is the process behind a seat, by address or by host name.
func (s *status) sitting(seat string) *process {
	if p := s.at(seat); p != nil {
		return p
	}
	return s.byName(seat)
}

func (s *status) byName(seat string) *process {
	for i := range s.processes {
		if p := &s.processes[i]; p.dns != "" && endpoint(seat) == hostName(*p) {
			return p
		}
	}
	return nil
}

// hostName is host:port of a process that has a host name.
func hostName(p process) string {
	_, port, err := net.SplitHostPort(endpoint(p.address))
	if err != nil {
		return ""
	}
	return net.JoinHostPort(p.dns, port)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
