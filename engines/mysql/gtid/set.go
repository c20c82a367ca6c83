package gtid

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// ErrText means that the text is not a position, or is too long.
var ErrText = errors.New("not a GTID position")

// MaxText bounds the text of a position. Servers with longer positions cannot be compared.
const MaxText = 16 << 10

// maxNumber is the highest number of a transaction of MySQL.
const maxNumber = 1<<63 - 2

// Set is the set of transactions as MySQL writes it: uuid:1-5:7:tag:1-2,uuid:1.
//
// Invariant: intervals are sorted, not empty, and neither overlap nor touch; no source is without
// any. The zero value is the empty set.
type Set struct{ of map[source][]interval }

type source struct {
	uuid [16]byte
	tag  string
}

type interval struct{ first, last uint64 } // both inside

// ParseSet reads a set; an empty text is the empty one.
func ParseSet(text string) (Set, error) {
	s := Set{of: map[source][]interval{}}
	if len(text) > MaxText {
		return Set{}, fmt.Errorf("%w: %d bytes: must be at most %d", ErrText, len(text), MaxText)
	}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue // MySQL writes such commas itself
		}
		if err := s.parseItem(item); err != nil {
			return Set{}, fmt.Errorf("%w: %w", ErrText, err)
		}
	}
	for from, list := range s.of {
		s.of[from] = normal(list)
	}
	return s, nil
}

// parseItem reads uuid:interval:...:tag:interval:...
func (s Set) parseItem(item string) error {
	head, rest, found := strings.Cut(item, ":")
	uuid, err := parseUUID(head)
	if err != nil || !found {
		return errors.New("must be uuid:interval")
	}
	from, empty := source{uuid: uuid}, true
	for part := range strings.SplitSeq(rest, ":") {
		part = strings.TrimSpace(part)
		if tag := strings.ToLower(part); isTag(tag) {
			if empty && from.tag != "" {
				return errors.New("a tag without an interval")
			}
			from.tag, empty = tag, true
			continue
		}
		i, err := parseInterval(part)
		if err != nil {
			return err
		}
		s.of[from], empty = append(s.of[from], i), false
	}
	if empty {
		return errors.New("must end with an interval")
	}
	return nil
}

func parseUUID(text string) (uuid [16]byte, err error) {
	text = strings.TrimSpace(text)
	plain := strings.ReplaceAll(text, "-", "")
	if len(plain) != 32 || len(text) != 36 || formatUUID(text) != plain {
		return uuid, errors.New("must be a uuid")
	}
	_, err = hex.Decode(uuid[:], []byte(plain))
	return uuid, err
}

// formatUUID removes the dashes of a UUID if they are in the right places.
func formatUUID(text string) string {
	return text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
}

// isTag reports whether the text is a tag: a letter or underscore, then up to 31 of these and
// digits.
func isTag(text string) bool {
	for i, r := range text {
		if r != '_' && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return text != "" && len(text) <= 32
}

func parseInterval(text string) (interval, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	var i interval
	var err error
	if i.first, err = parseNumber(first); err == nil {
		i.last, err = parseNumber(last)
	}
	if err != nil || i.first == 0 || i.last < i.first || i.last > maxNumber {
		return i, errors.New("must be an interval of numbers")
	}
	return i, nil
}

// parseNumber is stricter than strconv: no sign.
func parseNumber(text string) (uint64, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(text, 10, 64)
}

// normal sorts and joins the intervals.
func normal(list []interval) []interval {
	sorted.By(list, func(a, b interval) int { return cmp.Compare(a.first, b.first) })
	out := list[:0]
	for _, i := range list {
		if n := len(out); n > 0 && i.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, i.last)
		} else {
			out = append(out, i)
		}
	}
	return out
}

// String is the set in MySQL's notation, always the same for the same set.
func (s Set) String() string {
	keys := slices.Collect(maps.Keys(s.of))
	sorted.By(keys, func(a, b source) int {
		return cmp.Or(slices.Compare(a.uuid[:], b.uuid[:]), cmp.Compare(a.tag, b.tag))
	})
	var out strings.Builder
	for n, k := range keys {
		switch {
		case n > 0 && keys[n-1].uuid == k.uuid:
			out.WriteString(":" + k.tag)
		default:
			if n > 0 {
				out.WriteByte(',')
			}
			out.WriteString(uuidText(k.uuid))
			if k.tag != "" {
				out.WriteString(":" + k.tag)
			}
		}
		for _, i := range s.of[k] {
			out.WriteString(":" + strconv.FormatUint(i.first, 10))
			if i.last > i.first {
				out.WriteString("-" + strconv.FormatUint(i.last, 10))
			}
		}
	}
	return out.String()
}

func uuidText(u [16]byte) string {
	h := hex.EncodeToString(u[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// Empty reports whether nothing is in it.
func (s Set) Empty() bool { return len(s.of) == 0 }

// Count returns the count of transactions; it stops at the largest number there is.
func (s Set) Count() uint64 {
	var n uint64
	for _, list := range s.of {
		for _, i := range list {
			if n += i.last - i.first + 1; n > maxNumber {
				return maxNumber
			}
		}
	}
	return n
}

// Union returns the union of both.
func (s Set) Union(other Set) Set {
	out := Set{of: maps.Clone(s.of)}
	if out.of == nil {
		out.of = map[source][]interval{}
	}
	for from, list := range other.of {
		out.of[from] = normal(slices.Concat(out.of[from], list))
	}
	return out
}

// Subtract returns what is in it and not in other.
func (s Set) Subtract(other Set) Set {
	out := Set{of: map[source][]interval{}}
	for from, list := range s.of {
		if left := subtract(list, other.of[from]); len(left) > 0 {
			out.of[from] = left
		}
	}
	return out
}

func subtract(from, what []interval) []interval {
	var out []interval
	for _, i := range from {
		for len(what) > 0 && what[0].last < i.first {
			what = what[1:]
		}
		for n := 0; n < len(what) && what[n].first <= i.last; n++ {
			if w := what[n]; w.first > i.first {
				out = append(out, interval{i.first, w.first - 1})
			}
			i.first = what[n].last + 1
		}
		if i.first <= i.last {
			out = append(out, i)
		}
	}
	return out
}

// Without returns the set without the transactions of the source, whatever their tags. It removes
// nothing if the text is not a UUID.
func (s Set) Without(id string) Set {
	uuid, err := parseUUID(id)
	out := Set{of: map[source][]interval{}}
	for from, list := range s.of {
		if err != nil || from.uuid != uuid {
			out.of[from] = list
		}
	}
	return out
}
