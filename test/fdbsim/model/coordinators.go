package model

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Why coordinators are not changed.
var (
	ErrSameCoordinators       = errors.New("the coordinators are these already")
	ErrCoordinatorUnreachable = errors.New("one of the coordinators cannot be reached")
	ErrNotEnoughMachines      = errors.New("too few machines for the redundancy")
)

// sitting is the process at a seat's address, or nil.
func (c *Cluster) sitting(seat Seat) *Process { return c.At(seat.Address) }

// At is the process at an address, IP:port or name:port, or nil.
func (c *Cluster) At(address string) *Process {
	for _, p := range c.Processes {
		if p.Address == address || p.Host != "" && p.Host == address {
			return p
		}
	}
	return nil
}

func (c *Cluster) reachable(seat Seat) bool {
	p := c.sitting(seat)
	return p != nil && c.joined(p) && c.resolves(seat.Address)
}

// resolves reports whether an address is one, or a name that leads to one.
func (c *Cluster) resolves(address string) bool {
	if _, err := netip.ParseAddrPort(address); err == nil {
		return true
	}
	host, _, _ := strings.Cut(address, ":")
	return c.At(address) != nil && !slices.Contains(c.Unresolved, host)
}

// quorum reports whether a majority of the coordinators answers.
func (c *Cluster) quorum() bool {
	n := 0
	for _, seat := range c.Seats {
		if c.reachable(seat) {
			n++
		}
	}
	return n > len(c.Seats)/2
}

// seatsKept reports whether a majority of the seats still has the newest state on its volume, whether it answers or not.
func (c *Cluster) seatsKept() bool {
	n := 0
	for _, seat := range c.Seats {
		if p := c.sitting(seat); p != nil && p.Instance == seat.Process && p.Volume == seat.Volume {
			n++
		}
	}
	return n > len(c.Seats)/2
}

// writeSeats writes the newest state to every seat that answers.
func (c *Cluster) writeSeats() {
	for i, seat := range c.Seats {
		if p := c.sitting(seat); c.reachable(seat) {
			c.Seats[i].Process, c.Seats[i].Volume = p.Instance, p.Volume
		}
	}
}

// Connection is the connection string: what a cluster file holds.
func (c *Cluster) Connection() string {
	var addresses []string
	for _, seat := range c.Seats {
		addresses = append(addresses, seat.Address)
	}
	return c.Key() + "@" + strings.Join(addresses, ",")
}

// Key is the part of the connection string that says which database it is.
func (c *Cluster) Key() string { return c.Description + ":" + c.ID }

func (c *Cluster) setSeats(addresses []string) {
	c.Seats = nil
	for _, a := range addresses {
		c.Seats = append(c.Seats, Seat{Address: a})
	}
	c.ID = fmt.Sprintf("%08x", 0x9e3779b9*uint32(c.next()))
	c.Keys = append(c.Keys, c.Key())
	c.writeSeats()
	c.still = false
}

// SetCoordinators changes where the coordinators are, and their description when it is not empty. All of them must answer. It
// begins a recovery.
func (c *Cluster) SetCoordinators(addresses []string, description string) error {
	for _, a := range addresses {
		if p := c.At(a); p == nil || !c.joined(p) || !c.resolves(a) {
			return ErrCoordinatorUnreachable
		}
	}
	if len(addresses) == 0 {
		addresses = c.coordinatorAddresses()
	}
	if (description == "" || description == c.Description) && sameSet(addresses, c.coordinatorAddresses()) {
		return ErrSameCoordinators
	}
	if description != "" {
		c.Description = description
	}
	c.setSeats(addresses)
	c.Recovery.Phase, c.Recovery.Since, c.Recovery.Asked = ReadingCoordinatedState, c.Now, true
	return nil
}

func (c *Cluster) coordinatorAddresses() []string {
	var out []string
	for _, seat := range c.Seats {
		out = append(out, seat.Address)
	}
	return out
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// AutoCoordinators is what coordinators auto would choose: those of now when they are fine, else others, by address.
func (c *Cluster) AutoCoordinators() ([]string, error) {
	want := c.Redundancy.coordinators()
	if c.seatsFine(want) {
		return nil, ErrSameCoordinators
	}
	chosen := c.pickSeats(want)
	if len(chosen) < want {
		if len(chosen) < len(c.Seats) || len(chosen) == 0 {
			return nil, ErrNotEnoughMachines
		}
		chosen = chosen[:(len(chosen)-1)|1]
	}
	return chosen, nil
}

// seatsFine reports whether there are enough coordinators, all of them answer, none is excluded, and they are in as many
// zones as they can be.
func (c *Cluster) seatsFine(want int) bool {
	if len(c.Seats) < want {
		return false
	}
	zones := map[string]int{}
	for _, seat := range c.Seats {
		p := c.sitting(seat)
		if !c.reachable(seat) || c.isExcluded(p) {
			return false
		}
		zones[p.Zone]++
	}
	return len(zones) >= min(len(c.Seats), len(distinct(c.eligibleSeats(), func(p *Process) string { return p.Zone })))
}

func (c *Cluster) eligibleSeats() []*Process {
	var out []*Process
	for _, p := range c.Processes {
		if c.joined(p) && !c.isExcluded(p) && p.Class != Stateless {
			out = append(out, p)
		}
	}
	return out
}

// pickSeats chooses addresses, those of now first, by turns from each zone. A coordinator that has a name keeps it; a new
// one is named when the database has not been created, as a first cluster file does.
func (c *Cluster) pickSeats(want int) []string {
	eligible := c.eligibleSeats()
	named := map[string]string{}
	for _, seat := range c.Seats {
		if p := c.sitting(seat); p != nil {
			named[p.Instance] = seat.Address
		}
	}
	slices.SortStableFunc(eligible, func(a, b *Process) int {
		_, first := named[a.Instance]
		_, second := named[b.Instance]
		switch {
		case first == second:
			return 0
		case first:
			return -1
		default:
			return 1
		}
	})
	var out []string
	for _, p := range spread(eligible, want) {
		switch name, sits := named[p.Instance]; {
		case sits:
			out = append(out, name)
		case !c.Created() && p.Host != "" && c.Version.Hostnames():
			out = append(out, p.Host)
		default:
			out = append(out, p.Address)
		}
	}
	return out
}

// Resolved reports whether the names of all coordinators lead somewhere. When one does not, status gets nowhere.
func (c *Cluster) Resolved() bool {
	return !slices.ContainsFunc(c.Seats, func(s Seat) bool { return !c.resolves(s.Address) })
}

// SeatAddresses are the coordinators as IP:port. What does not resolve is left out.
func (c *Cluster) SeatAddresses() []string {
	var out []string
	for _, seat := range c.Seats {
		if c.resolves(seat.Address) {
			out = append(out, strings.TrimSuffix(c.seatAddress(seat), fromHostname))
		}
	}
	return out
}

// fromHostname marks an address that a name led to.
const fromHostname = "(fromHostname)"

// seatAddress is an address, with a mark when it comes from a name.
func (c *Cluster) seatAddress(seat Seat) string {
	if p := c.sitting(seat); p != nil && seat.Address != p.Address {
		return p.Address + fromHostname
	}
	return seat.Address
}

// ShownSeats are the coordinators as the command of that name prints them: addresses, and none where a name leads nowhere.
func (c *Cluster) ShownSeats() []string {
	var out []string
	for _, seat := range c.Seats {
		if c.resolves(seat.Address) {
			out = append(out, c.seatAddress(seat))
		}
	}
	return out
}
