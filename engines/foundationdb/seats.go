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

// moveSeat moves a coordinator's seat from the pod to another process. It names all coordinators,
// so that nothing else moves; coordinators auto would leave a seat where it is as long as its
// process is not excluded.
//
// It returns false when the pod turns out to have none: the owner of a seat that does not answer is
// known by its name only.
func (e *Engine) moveSeat(ctx context.Context, order engines.Order, node string, s snapshot) (engines.Progress, bool, error) {
	a, err := e.client.run(ctx, "coordinators")
	if err == nil {
		err = a.done("coordinators")
	}
	if err != nil {
		return engines.Progress{}, true, err
	}
	now, err := readCoordinators(a.stdout)
	if err != nil {
		return engines.Progress{}, true, err
	}
	absent := len(s.of(node)) == 0
	if absent {
		if seat := s.nobodys(node, now); seat != "" {
			return running("the coordinator %s cannot be reached, and nobody can tell whether it was in %s", engines.OneLine(seat), engines.OneLine(node)), true, nil
		}
	}
	next, why := s.seatsWithout(node, now, order.Eligible)
	if why != "" {
		return refused("%s", why), true, nil
	}
	if slices.Equal(next, now) {
		return running("the seat of %s has moved, and the status does not show it yet", engines.OneLine(node)), !absent, nil
	}
	if err := engines.InTime(order.NotAfter); err != nil {
		return engines.Progress{}, true, err
	}
	if a, err = e.client.run(ctx, "coordinators "+strings.Join(next, " ")); err == nil {
		err = readSeatChange(a)
	}
	if err != nil {
		return engines.Progress{}, true, err
	}
	return running("its seat among the coordinators moved to another pod"), true, nil
}

// missesSeat reports whether some coordinator does not answer, or is not known to.
func (s *status) missesSeat() bool {
	return slices.ContainsFunc(s.coordinators, func(c coordinator) bool { return !is(c.reachable) })
}

// nobodys returns a seat with an unknown owner: an address without a process, while the last
// address of the absent pod is unknown.
func (s snapshot) nobodys(node string, now []string) string {
	for _, seat := range now {
		if s.sitting(seat) == nil && seatName(seat) == "" && len(s.last[node].endpoints) == 0 {
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
func (s snapshot) leaves(seat, node string) bool {
	if p := s.sitting(seat); p != nil {
		return p.instance == node
	}
	return seatName(seat) == node || slices.Contains(s.last[node].endpoints, endpoint(seat))
}

// seatsWithout is the list of coordinators with others in the place of the pod's.
// Those others are in zones without a seat, where there are any.
func (s snapshot) seatsWithout(node string, now, eligible []string) (next []string, why string) {
	taken, zones := map[string]bool{}, map[string]bool{}
	var leaving []int
	for i, seat := range now {
		if s.leaves(seat, node) {
			leaving = append(leaving, i)
			continue
		}
		p := s.sitting(seat)
		if p == nil {
			continue // somebody else's: it stays
		}
		taken[endpoint(p.address)], zones[p.zone] = true, true
	}
	next = slices.Clone(now)
	named := slices.ContainsFunc(now, func(seat string) bool { return s.byName(seat) != nil })
	for _, i := range leaving {
		best := s.bestSeat(node, taken, zones, eligible)
		if best == nil {
			return nil, fmt.Sprintf("no process in a zone without a coordinator can take the seat of %s", engines.OneLine(node))
		}
		taken[endpoint(best.address)], zones[best.zone] = true, true
		next[i] = seatOf(*best, named)
		if strings.HasSuffix(plainAddress(now[i]), ":tls") && !strings.HasSuffix(next[i], ":tls") {
			next[i] += ":tls"
		}
	}
	return next, ""
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

// seatOf is how a process is named as a coordinator: by its host name where others
// are.
func seatOf(p process, named bool) string {
	if named && p.dns != "" {
		return hostName(p)
	}
	return plainAddress(p.address)
}

// bestSeat is the process that should take a seat: of a class that keeps its data,
// eligible ones first, then those without a role in transactions, then by name.
func (s *status) bestSeat(node string, taken, zones map[string]bool, eligible []string) *process {
	var best *process
	var bestKey [2]int
	for i := range s.processes {
		p := &s.processes[i]
		fits := p.instance != "" && p.instance != node && !is(p.excluded) && p.excluded != nil && p.failing() == "" &&
			p.zone != "" && !zones[p.zone] && !taken[endpoint(p.address)] && p.zone != s.maintenance
		if !fits || !keepsData(p.class) {
			continue
		}
		key := [2]int{boolInt(len(eligible) > 0 && !slices.Contains(eligible, p.instance)), rankOf([]process{*p})}
		if best == nil || slices.Compare(key[:], bestKey[:]) < 0 {
			best, bestKey = p, key
		}
	}
	return best
}

func keepsData(class string) bool {
	switch cmp.Or(class, "unset") {
	case "unset", "storage", "log", "transaction", "coordinator":
		return true
	}
	return false
}
