package foundationdb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// seating is where new seats may be.
type seating struct {
	leaving map[string]bool // pods that get none
	taken   []*process
	zones   map[string]int // seats that stay, by zone
	most    int            // seats in one zone
	named   bool           // seats are host names
}

// seatsWithout is the list of coordinators with others in the place of those that leave; all others
// stay as they are named. The new ones are in zones with the fewest seats, and no zone gets so many
// that losing it would lose the quorum, unless one had as many before. They are named by host where
// those that stay are, else by address.
func (s snapshot) seatsWithout(leaving, now, eligible []string) (next []string, why string) {
	in := seating{leaving: map[string]bool{}, zones: map[string]int{}, most: max(1, (len(now)-1)/2)}
	before := map[string]int{}
	stay := 0
	for _, seat := range now {
		p := s.behind(seat)
		if p != nil {
			before[p.zone]++
			in.most = max(in.most, before[p.zone])
		}
		if slices.Contains(leaving, seat) {
			in.leaving[s.owner(seat)] = true
			continue
		}
		stay++
		in.named = in.named || seatName(seat) != ""
		if p != nil {
			in.zones[p.zone]++
			in.taken = append(in.taken, p)
		}
	}
	if stay == 0 {
		in.named = seatName(now[0]) != ""
	}
	next = slices.Clone(now)
	for i, seat := range now {
		if !slices.Contains(leaving, seat) {
			continue
		}
		best, nameless := s.bestSeat(in, eligible)
		switch {
		case best == nil && nameless:
			return nil, fmt.Sprintf("the coordinators are named by host, and no process that could take the seat of %s has a host name: start fdbserver with --locality_dns_name", engines.OneLine(s.owner(seat)))
		case best == nil:
			return nil, fmt.Sprintf("no process in a zone with room for a coordinator can take the seat of %s: losing a zone must leave a majority", engines.OneLine(s.owner(seat)))
		}
		in.taken = append(in.taken, best)
		in.zones[best.zone]++
		next[i] = seatOf(*best, in.named)
		if strings.HasSuffix(seat, ":tls") && !strings.HasSuffix(next[i], ":tls") {
			next[i] += ":tls"
		}
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(next))); len(distinct) < len(now) {
		return nil, fmt.Sprintf("there would be %d coordinators in the place of %d: two of %s are the same", len(distinct), len(now), engines.Some(next))
	}
	return next, ""
}

// seatOf is how a process is named as a coordinator.
func seatOf(p process, named bool) string {
	switch {
	case !named:
		return plainAddress(p.address)
	case strings.HasSuffix(plainAddress(p.address), ":tls"):
		return hostName(p) + ":tls"
	}
	return hostName(p)
}

// bestSeat is the process that should take a seat: of a class that keeps its data, eligible ones
// first, then those in zones with few seats, then those without a role in transactions, then by
// name. The second result means that one would do if it had a host name.
func (s *status) bestSeat(in seating, eligible []string) (best *process, nameless bool) {
	var bestKey [3]int
	for i := range s.processes {
		p := &s.processes[i]
		fits := p.instance != "" && !in.leaving[p.instance] && !is(p.excluded) && p.excluded != nil && p.failing() == "" &&
			p.zone != "" && in.zones[p.zone] < in.most && !slices.Contains(in.taken, p) && p.zone != s.maintenance
		if !fits || !keepsData(p.class) {
			continue
		}
		if in.named && p.dns == "" {
			nameless = true
			continue
		}
		key := [3]int{boolInt(len(eligible) > 0 && !slices.Contains(eligible, p.instance)), in.zones[p.zone], rankOf([]process{*p})}
		if best == nil || slices.Compare(key[:], bestKey[:]) < 0 {
			best, bestKey = p, key
		}
	}
	return best, nameless
}

func keepsData(class string) bool {
	switch cmp.Or(class, "unset") {
	case "unset", "storage", "log", "transaction", "coordinator":
		return true
	}
	return false
}
