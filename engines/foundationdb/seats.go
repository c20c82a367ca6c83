package foundationdb

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// moveSeat gives a coordinator's seat of the pod to another process. It names all
// coordinators, so that nothing else moves; coordinators auto would leave a seat
// where it is as long as its process is not excluded.
func (e *Engine) moveSeat(ctx context.Context, order engines.Order, node string, s sight) (engines.Progress, error) {
	a, err := e.client.run(ctx, "coordinators")
	if err != nil {
		return engines.Progress{}, err
	}
	if err := a.done("coordinators"); err != nil {
		return engines.Progress{}, err
	}
	now, err := readCoordinators(a.stdout)
	if err != nil {
		return engines.Progress{}, err
	}
	next, why := s.seatsWithout(node, now, order.Eligible)
	if why != "" {
		return refused("%s", why), nil
	}
	if slices.Equal(next, now) {
		return running("the seat of %s has moved, and the status does not show it yet", engines.OneLine(node)), nil
	}
	if err := engines.InTime(order.NotAfter); err != nil {
		return engines.Progress{}, err
	}
	if a, err = e.client.run(ctx, "coordinators "+strings.Join(next, " ")); err != nil {
		return engines.Progress{}, err
	}
	if err := readSeatChange(a); err != nil {
		return engines.Progress{}, err
	}
	return running("its seat among the coordinators moved to another pod"), nil
}

// seatsWithout is the list of coordinators with others in the place of the pod's.
// Those others are in zones without a seat, where there are any.
func (s *status) seatsWithout(node string, now, eligible []string) (next []string, why string) {
	taken, zones := map[string]bool{}, map[string]bool{}
	var leaving []int
	for i, seat := range now {
		p := s.sitting(seat)
		if p == nil {
			continue // not to be told whose: it stays
		}
		if p.instance == node {
			leaving = append(leaving, i)
			continue
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
