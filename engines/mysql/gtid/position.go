// Package gtid compares the positions of servers: MySQL's sets of transactions, and MariaDB's
// positions. It is pure, and bounded by MaxText.
package gtid

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Notation is the notation of a server's positions. The zero value belongs to no server.
type Notation uint8

// The notations.
const (
	Unknown Notation = iota
	MySQL
	MariaDB
)

// None is the text of a position that is known to be empty. An empty text is an unknown position,
// except in a server's own answer.
const None = "none"

// Position is the position of a server, in either notation. The zero value is at least no position,
// and ahead of none.
type Position struct {
	notation Notation
	set      Set
	domains  Domains
}

// Parse parses a server's text, or that of String. An empty text from a server is an empty
// position.
func Parse(notation Notation, text string) (Position, error) {
	p := Position{notation: notation}
	var err error
	if text == None {
		text = ""
	}
	switch notation {
	case MySQL:
		p.set, err = ParseSet(text)
	case MariaDB:
		p.domains, err = ParseDomains(text)
	default:
		err = fmt.Errorf("%w: unknown notation", ErrText)
	}
	if err != nil {
		return Position{}, err
	}
	return p, nil
}

// Told parses the text that String returned.
func Told(notation Notation, text string) (Position, error) {
	if text == "" {
		return Position{}, fmt.Errorf("%w: it is not known", ErrText)
	}
	return Parse(notation, text)
}

// String returns the text that Parse and Told parse. It is empty only for the zero value.
func (p Position) String() string {
	switch {
	case p.notation == Unknown:
		return ""
	case p.Empty():
		return None
	case p.notation == MariaDB:
		return p.domains.String()
	}
	return p.set.String()
}

// Domains returns the domains of MariaDB; empty for others.
func (p Position) Domains() Domains { return p.domains }

// Empty reports whether nothing is in it.
func (p Position) Empty() bool { return p.set.Empty() && len(p.domains.of) == 0 }

// AtLeast reports whether the position has all of wanted, and if not, why.
func (p Position) AtLeast(wanted Position) (bool, string) {
	switch {
	case p.notation == Unknown || p.notation != wanted.notation:
		return false, "the positions are unknown or of different kinds of server"
	case p.notation == MySQL:
		missing := wanted.set.Subtract(p.set)
		if missing.Empty() {
			return true, ""
		}
		return false, fmt.Sprintf("transactions are missing (%d): %s", missing.Count(), short(missing.String()))
	}
	missing, some := p.domains.lacks(wanted.domains)
	if !some {
		return true, ""
	}
	switch tip := p.domains.tip(missing.Domain); {
	case tip == ID{}:
		return false, fmt.Sprintf("%s is missing, and all else of domain %d", missing, missing.Domain)
	case tip.Sequence >= missing.Sequence:
		return false, fmt.Sprintf("%s is missing although it has %s: it has diverged", missing, tip)
	default:
		return false, fmt.Sprintf("%s is missing: it has %s", missing, tip)
	}
}

// Diverged reports whether each has something that the other has not.
func (p Position) Diverged(other Position) bool {
	if p.notation == Unknown || p.notation != other.notation {
		return false
	}
	more, _ := p.AtLeast(other)
	less, _ := other.AtLeast(p)
	return !more && !less
}

// Union returns the union of both: what was executed and what was received. Of different notations
// there is none.
func (p Position) Union(other Position) Position {
	if p.notation != other.notation {
		return Position{}
	}
	return Position{notation: p.notation, set: p.set.Union(other.set), domains: p.domains.Union(other.domains)}
}

// Errant returns, as text, the transactions of a replica that its primary does not have; empty
// means none. Transactions that the primary wrote do not count, because the primary may have been
// looked at a moment earlier. It fails if the positions cannot be compared.
func (p Position) Errant(ownID string, primary Position, primaryID string) (string, error) {
	switch {
	case p.notation == Unknown || p.notation != primary.notation || primaryID == "":
		return "", errors.New("the positions are unknown or of different kinds of server")
	case p.notation == MySQL:
		return short(p.set.Subtract(primary.set).Without(primaryID).String()), nil
	}
	var out []string
	for _, g := range p.domains.errant(primary.domains, primaryID, ownID) {
		out = append(out, g.String())
	}
	return short(strings.Join(out, ",")), nil
}

// AtLeast compares two positions as texts. A position that is unknown or cannot be read is never at
// least another one, and no position is at least an unknown one.
func AtLeast(notation Notation, have, wanted string) (bool, string) {
	h, err := Told(notation, have)
	w, err2 := Told(notation, wanted)
	if err := errors.Join(err, err2); err != nil {
		return false, err.Error()
	}
	return h.AtLeast(w)
}

// short shortens a text so that it fits a reason.
func short(text string) string {
	const few = 200
	if len(text) <= few {
		return text
	}
	end := slices.Max([]int{strings.LastIndexAny(text[:few], ",:"), 1})
	return text[:end] + "..."
}
