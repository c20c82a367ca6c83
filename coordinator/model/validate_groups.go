package model

func (v *validator) groups(list []Group) {
	seen := map[string]bool{}
	distinct := rising(list)
	for i := range list {
		g := &list[i]
		if g.ID == "" {
			v.add(groupField(g, "id"), "is empty")
		}
		if !distinct {
			if seen[g.ID] {
				v.twice(groupField(g, "id"), "is given twice")
			}
			seen[g.ID] = true
		}
		switch g.Kind {
		case GroupShard, GroupQuorum, GroupAcks, GroupRole:
			if g.MinAvailable == nil {
				if g.Kind != GroupShard {
					v.add(groupField(g, "minAvailable"), "is null: the engine must set it for kind %s", g.Kind)
				}
			} else if *g.MinAvailable < 0 {
				v.add(groupField(g, "minAvailable"), "is %d: must be at least 0", *g.MinAvailable)
			}
		default:
			oneOf(v, groupField(g, "kind"), g.Kind, GroupShard, GroupQuorum, GroupAcks, GroupRole)
		}
		v.members(g)
	}
}

// rising reports whether the ids are strictly ascending, and so unique.
func rising(list []Group) bool {
	for i := range list {
		if i > 0 && list[i-1].ID >= list[i].ID {
			return false
		}
	}
	return true
}

func groupField(g *Group, field string) string { return "groups[" + g.ID + "]." + field }

func (v *validator) members(g *Group) {
	for i := range g.Members {
		m := &g.Members[i]
		switch m.State {
		case "", MemberActive, MemberRecovering, MemberMoving, MemberDown, MemberUnknown:
		default:
			oneOf(v, groupField(g, "members["+m.ID+"].state"), m.State, MemberActive, MemberRecovering, MemberMoving, MemberDown, MemberUnknown)
		}
	}
	if len(g.Members) > maxPairwise {
		v.manyMembers(g)
		return
	}
	for i := range g.Members {
		for j := range i {
			if id := g.Members[i].ID; id != "" && g.Members[j].ID == id {
				v.twice(groupField(g, "members["+id+"].id"), "is given twice")
			}
		}
	}
}

// maxPairwise is the number of members up to which comparing all pairs is cheaper than a map.
const maxPairwise = 16

func (v *validator) manyMembers(g *Group) {
	seen := make(map[string]bool, len(g.Members))
	for i := range g.Members {
		if id := g.Members[i].ID; id != "" {
			if seen[id] {
				v.twice(groupField(g, "members["+id+"].id"), "is given twice")
			}
			seen[id] = true
		}
	}
}
