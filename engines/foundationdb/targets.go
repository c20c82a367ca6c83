package foundationdb

import (
	"crypto/sha256"
	"net/netip"
	"slices"
	"strings"
)

// Targets of exclude and include are localities or addresses.

const localityPrefix = "locality_"

// localityTarget adds the prefix of a locality, which some versions do not list.
func localityTarget(text string) string {
	if strings.HasPrefix(text, localityPrefix) {
		return text
	}
	return localityPrefix + text
}

func instanceTarget(instance string) string { return localityPrefix + "instance_id:" + instance }

// A mark is an entry of the exclusion list that stands for no process. It says
// which claim excluded which pod, since an exclusion has no room for an owner. Where
// there are no localities it is an address of a private network that nobody has,
// made of the hashes of both.
const markPrefix = localityPrefix + "rollcall:"

// markNetwork is the private network of marks that are addresses.
var markNetwork = netip.MustParsePrefix("fd72:6f6c:6c63:616c::/64")

func markOf(v version, claim, instance string) string {
	if v.localities() {
		return markPrefix + claim + "/" + instance
	}
	return addressMark(claim, instance)
}

func addressMark(claim, instance string) string {
	a := markNetwork.Addr().As16()
	copy(a[8:12], hash(instance))
	copy(a[12:], hash(claim))
	return netip.AddrFrom16(a).String()
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:4]
}

// markFor is the mark of one address among the targets, which says that it is ours and
// which it is, even when the pod has another by then. There is none where marks are
// addresses themselves, nor for the pod's locality, for which the mark itself stands.
func markFor(mark, target string) string {
	if !strings.HasPrefix(mark, markPrefix) || strings.HasPrefix(target, localityPrefix) {
		return ""
	}
	return mark + "/" + target
}

// announcement is the mark that says only that the pod is replaced, of an order whose mark is given.
// It stands for no entry, so that what somebody else excludes after it stays theirs. There is none
// where marks are addresses: they stand for whatever the pod has.
func announcement(mark string) string {
	if !strings.HasPrefix(mark, markPrefix) {
		return ""
	}
	return mark + "/announced"
}

// marks reports whether a target is a mark for the pod, and whether it is that of one of the
// claims.
func marks(target, instance string, claims []string) (pod, claimed bool) {
	if rest, ok := strings.CutPrefix(target, markPrefix); ok {
		claim, whose, _ := strings.Cut(rest, "/")
		whose, _, _ = strings.Cut(whose, "/")
		return whose == instance, slices.Contains(claims, claim)
	}
	a, err := netip.ParseAddr(target)
	if err != nil || !markNetwork.Contains(a) {
		return false, false
	}
	bytes := a.As16()
	claimed = slices.ContainsFunc(claims, func(c string) bool { return addressMark(c, instance) == a.String() })
	return string(bytes[8:12]) == string(hash(instance)), claimed
}

// marked are the targets that a mark of the pod stands for, as far as it tells: where it
// is an address, the addresses of the pod's processes of today.
func marked(mark, instance string, own []process) []string {
	if rest, ok := strings.CutPrefix(mark, markPrefix); ok {
		_, whose, _ := strings.Cut(rest, "/")
		if _, address, one := strings.Cut(whose, "/"); one {
			return []string{address}
		}
		return []string{instanceTarget(instance)}
	}
	var out []string
	for _, p := range own {
		out = append(out, endpoint(p.address))
	}
	return out
}

// validTarget reports whether the text is an IP, IP:port or locality_key:value, and has nothing
// that would end the word or begin another command.
func validTarget(text string) bool {
	if text == "" || len(text) > 500 || strings.ContainsFunc(text, unfit) {
		return false
	}
	if rest, ok := strings.CutPrefix(text, localityPrefix); ok {
		key, value, both := strings.Cut(rest, ":")
		return both && key != "" && value != ""
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	_, err := netip.ParseAddrPort(text)
	return err == nil
}

// targetsFor is what has to be excluded so that a pod holds nothing: its locality
// where that can be trusted, and the addresses of its processes where it cannot, or
// where they are logs, which a version may know by address only.
func targetsFor(v version, instance string, processes []process) []string {
	var out []string
	locality := v.byLocality()
	if locality {
		out = append(out, instanceTarget(instance))
	}
	for _, p := range processes {
		if !locality || p.has("log") {
			out = append(out, endpoint(p.address))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lists reports whether the exclusion list has the target.
func (s *status) lists(target string) bool { return slices.Contains(s.excluded, target) }
