package view

import (
	"slices"
	"strings"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// leaderOf is the leader, or the leaders, that all voices agree on. Where they do
// not, those who would know decide, if they agree; else a majority outvotes the
// others; and without one nobody is known to lead.
func (w *world) leaderOf(id string, voices []voice) []string {
	said := map[string][]int{}
	for _, v := range voices {
		key := strings.Join(leadersIn(v.group), "\x00")
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
		return strings.FieldsFunc(key, func(r rune) bool { return r == 0 })
	}
	w.disagree = append(w.disagree, "who leads "+id)
	return nil
}

// handedOver finds the leader after a change that not all have seen: the one
// whose own pod says so, in a view newer than all that say otherwise, while the
// pod of every other that anybody names knows better, or no longer runs.
func (w *world) handedOver(voices []voice) (string, bool) {
	own := map[int]voice{}
	named := map[string]int{} // leaders that are named, and their pods
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
				return "", false // two say so of themselves
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

// leadersIn are the ids of a group's leaders, in order.
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
