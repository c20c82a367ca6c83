package opensearch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// mark is stored beside an entry of a list that other users also write: a persistent setting below
// cluster.metadata, which OpenSearch keeps for its users and does not read. So the database itself
// remembers who added an entry, whichever agent died, and a sweep finds its own. An entry without a
// mark is foreign, and stays.
type mark struct {
	Claim string `json:"claim"`
	// Node is the node that was drained.
	Node string `json:"node"`
	// What list the entry is in.
	What list `json:"what"`
	// Entry in that list: a node name.
	Entry string `json:"entry"`
	// Others are entries to add again after a list was cleared, because it can only be cleared as a
	// whole.
	Others []exclusion `json:"others,omitempty"`
}

type list string

const (
	// votes are the voting exclusions.
	votes list = "votes"
	// copiesPersistent and copiesTransient are the names that allocation excludes, at the level at
	// which that setting takes effect.
	copiesPersistent list = "copies-persistent"
	copiesTransient  list = "copies-transient"
)

const markPrefix = "cluster.metadata.rollcall."

// key returns the name of the setting. It is a digest of everything that does not change later,
// because names and claims have characters that setting names cannot have.
func (m mark) key() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{m.Claim, m.Node, string(m.What), m.Entry}, "\x00")))
	return markPrefix + hex.EncodeToString(sum[:8])
}

func (m mark) String() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings only
	}
	return string(text)
}

// parseMark parses a mark. Anything that is not in our form is foreign, and stays.
func parseMark(key, value string) (mark, bool) {
	if !strings.HasPrefix(key, markPrefix) {
		return mark{}, false
	}
	var m mark
	decoder := json.NewDecoder(bytes.NewReader([]byte(value)))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&m) != nil || decoder.More() || m.key() != key || engines.CheckClaim(m.Claim) != nil || m.Node == "" || m.Entry == "" {
		return mark{}, false
	}
	switch m.What {
	case votes, copiesPersistent, copiesTransient:
		return m, true
	}
	return mark{}, false
}

// marks returns the marks of all claims, in order.
func (s settings) marks() []mark {
	var out []mark
	for key, value := range s.persistent {
		if m, ok := parseMark(key, value); ok {
			out = append(out, m)
		}
	}
	sorted.By(out, func(a, b mark) int { return cmp.Compare(a.key(), b.key()) })
	return out
}

// marked reports whether one of the marks owns the entry.
func marked(marks []mark, what list, entry string) bool {
	return slices.ContainsFunc(marks, func(m mark) bool { return m.What == what && m.Entry == entry })
}

// without returns the marks of all that are not in gone.
func without(all, gone []mark) []mark {
	return slices.DeleteFunc(slices.Clone(all), func(m mark) bool {
		return slices.ContainsFunc(gone, func(g mark) bool { return g.key() == m.key() })
	})
}
