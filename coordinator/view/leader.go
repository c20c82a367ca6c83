package view

import (
	"slices"
	"strings"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// leaderOf returns the leader, or the leaders, that all voices agree on. If they do not agree,
// those that would know decide, if they agree; otherwise a majority outvotes the others; and
// without a majority the leader is not known.
func (w *world) leaderOf(id string, voices []voice) []string {
	if !slices.ContainsFunc(voices[1:], func(v voice) bool { return !sameLeaders(voices[0].group, v.group) }) {
		return separate(joined(voices[0].group))
	}
	said := map[string][]int{}
	for _, v := range voices {
		key := joined(v.group)
		said[key] = append(said[key], v.pod)
	}
	if len(said) > 1 {
		w.contested = true
		if leader, ok := w.handedOver(voices); ok {
			return []string{leader}
		}
	}
	for key, pods := range said {
		if 2*len(pods) <= len(voices) {
			continue
		}
		for other, outvoted := range said {
			for _, i := range outvoted {
				w.pods[i].outvoted = w.pods[i].outvoted || other != key
			}
		}
		w.disputed[id] = true
		return separate(key)
	}
	w.disagree = append(w.disagree, "who leads "+id)
	return nil
}

// joined returns a group's leaders in one text, which separate takes apart.
func joined(g *rollcallv1.Group) string { return strings.Join(leadersIn(g), "\x00") }

func separate(leaders string) []string {
	return strings.FieldsFunc(leaders, func(r rune) bool { return r == 0 })
}

// sameLeaders reports whether two reports on a group list the same leaders in the same order.
func sameLeaders(a, b *rollcallv1.Group) bool {
	x, y := a.GetMembers(), b.GetMembers()
	for {
		i, j := slices.IndexFunc(x, (*rollcallv1.Member).GetLeader), slices.IndexFunc(y, (*rollcallv1.Member).GetLeader)
		if i < 0 || j < 0 {
			return i == j
		}
		if x[i].GetId() != y[j].GetId() {
			return false
		}
		x, y = x[i+1:], y[j+1:]
	}
}

// handedOver finds the leader after a change that not all have seen: the one whose own pod says so,
// in a view newer than all that say otherwise, while the pod of every other named leader knows
// better, or no longer runs.
func (w *world) handedOver(voices []voice) (string, bool) {
	own := map[int]voice{}
	named := map[string]int{} // the named leaders, and their pods
	for _, v := range voices {
		own[v.pod] = v
		for _, m := range v.group.GetMembers() {
			if m.GetLeader() {
				h, ok := w.hosts[m.GetNode()]
				if !ok || h.unsure {
					return "", false
				}
				named[m.GetId()] = h.pod
			}
		}
	}
	leader := ""
	for id, at := range named {
		v, speaks := own[at]
		switch {
		case speaks && slices.Equal(leadersIn(v.group), []string{id}):
			if leader != "" {
				return "", false // two say so about themselves
			}
			leader = id
		case speaks && slices.Contains(leadersIn(v.group), id), !speaks && w.pods[at].running():
			return "", false
		}
	}
	if leader == "" {
		return "", false
	}
	since := w.pods[named[leader]].at
	for _, v := range voices {
		if !slices.Equal(leadersIn(v.group), []string{leader}) && !w.pods[v.pod].at.Before(since) {
			return "", false
		}
	}
	return leader, true
}

// leadersIn returns the ids of a group's leaders, in order.
func leadersIn(g *rollcallv1.Group) []string {
	var ids []string
	for _, m := range g.GetMembers() {
		if m.GetLeader() {
			ids = append(ids, m.GetId())
		}
	}
	slices.Sort(ids)
	return ids
}
