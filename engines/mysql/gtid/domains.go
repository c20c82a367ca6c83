package gtid

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// ID is the ID of a transaction of MariaDB: domain-server-sequence.
type ID struct {
	Domain, Server uint32
	Sequence       uint64
}

func (g ID) String() string { return fmt.Sprintf("%d-%d-%d", g.Domain, g.Server, g.Sequence) }

// ParseID reads one.
func ParseID(text string) (ID, error) {
	parts := strings.Split(strings.TrimSpace(text), "-")
	if len(parts) != 3 {
		return ID{}, errors.New("must be domain-server-sequence")
	}
	var n [3]uint64
	for i, bits := range []int{32, 32, 64} {
		var err error
		if n[i], err = parseNumber(parts[i]); err != nil || bits == 32 && n[i]>>32 != 0 {
			return ID{}, errors.New("must be domain-server-sequence in numbers")
		}
	}
	return ID{uint32(n[0]), uint32(n[1]), n[2]}, nil
}

// Domains is what a server of MariaDB has in each domain: for each server that wrote, the last
// transaction from it, in the notation of @@gtid_binlog_state, where the latest of a domain stands
// last. A position (@@gtid_slave_pos) is the same with one server for each domain.
//
// A sequence number alone proves nothing: a server that has diverged has the same and higher
// numbers from another server.
//
// Invariant: no domain is without a transaction, no server twice in one.
type Domains struct{ of map[uint32][]ID }

// ParseDomains reads either notation.
func ParseDomains(text string) (Domains, error) {
	d := Domains{of: map[uint32][]ID{}}
	if len(text) > MaxText {
		return Domains{}, fmt.Errorf("%w: %d bytes: must be at most %d", ErrText, len(text), MaxText)
	}
	seen := map[[2]uint32]bool{}
	for item := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		g, err := ParseID(item)
		if err != nil {
			return Domains{}, fmt.Errorf("%w: %w", ErrText, err)
		}
		if k := [2]uint32{g.Domain, g.Server}; seen[k] {
			return Domains{}, fmt.Errorf("%w: server %d twice in domain %d", ErrText, g.Server, g.Domain)
		} else {
			seen[k] = true
		}
		d.of[g.Domain] = append(d.of[g.Domain], g)
	}
	return d, nil
}

// String is the notation of @@gtid_binlog_state, sorted but for what stands last.
func (d Domains) String() string {
	var out []string
	for _, domain := range slices.Sorted(maps.Keys(d.of)) {
		list := slices.Clone(d.of[domain])
		sorted.By(list[:len(list)-1], func(a, b ID) int { return cmp.Compare(a.Server, b.Server) })
		for _, g := range list {
			out = append(out, g.String())
		}
	}
	return strings.Join(out, ",")
}

// Tips is the latest transaction of each domain, sorted: a position.
func (d Domains) Tips() []ID {
	var out []ID
	for _, domain := range slices.Sorted(maps.Keys(d.of)) {
		out = append(out, d.tip(domain))
	}
	return out
}

// Position writes the tips as one.
func (d Domains) Position() string {
	var out []string
	for _, g := range d.Tips() {
		out = append(out, g.String())
	}
	return strings.Join(out, ",")
}

func (d Domains) tip(domain uint32) ID {
	list := d.of[domain]
	if len(list) == 0 {
		return ID{}
	}
	return list[len(list)-1]
}

// Has reports whether the transaction is known to be in it: it is if there is one of the same
// server with this or a later sequence number.
func (d Domains) Has(g ID) bool {
	for _, own := range d.of[g.Domain] {
		if own.Server == g.Server {
			return own.Sequence >= g.Sequence
		}
	}
	return false
}

// lacks returns the first of other's tips that is missing.
func (d Domains) lacks(other Domains) (ID, bool) {
	for _, g := range other.Tips() {
		if !d.Has(g) {
			return g, true
		}
	}
	return ID{}, false
}

// Union adds what other has. The higher sequence of two tips stands last.
func (d Domains) Union(other Domains) Domains {
	out := Domains{of: map[uint32][]ID{}}
	for domain, list := range d.of {
		out.of[domain] = slices.Clone(list)
	}
	for domain, list := range other.of {
		for _, g := range list {
			out.of[domain] = add(out.of[domain], g)
		}
	}
	return out
}

func add(list []ID, g ID) []ID {
	at := slices.IndexFunc(list, func(own ID) bool { return own.Server == g.Server })
	if at >= 0 {
		if list[at].Sequence >= g.Sequence {
			return list
		}
		list = slices.Delete(list, at, at+1)
	}
	if n := len(list); n > 0 && list[n-1].Sequence >= g.Sequence {
		return slices.Insert(list, n-1, g)
	}
	return append(list, g)
}

// errant returns what the server wrote, or follows, and the primary does not have: the latest of a
// domain, and the server's own transactions. What other servers wrote before that may be missing on
// a primary that was made from a backup.
func (d Domains) errant(primary Domains, primaryServer, ownServer string) []ID {
	var out []ID
	for _, domain := range slices.Sorted(maps.Keys(d.of)) {
		for _, g := range d.of[domain] {
			server := strconv.FormatUint(uint64(g.Server), 10)
			if server == primaryServer || primary.Has(g) {
				continue
			}
			if g == d.tip(domain) || server == ownServer {
				out = append(out, g)
			}
		}
	}
	return out
}
