package web

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// maxGroups bounds how many groups a view names. Those with most members missing are named first.
const maxGroups = 200

// Copies is the matrix of redundancy groups by pods.
type Copies struct {
	// Pods are the columns, sorted by pool and ordinal.
	Pods []string `json:"pods"`
	Rows []Row    `json:"rows"`
	// Hidden counts the groups beyond the bound, none of which miss more than the shown ones.
	Hidden int `json:"hidden"`
}

// Row is one redundancy group.
type Row struct {
	ID   string          `json:"id"`
	Kind model.GroupKind `json:"kind"`
	// There is the number of Active members, Of that of all.
	There int `json:"there"`
	Of    int `json:"of"`
	// Holds is how many pods this group holds now.
	Holds int    `json:"holds"`
	Cells []Cell `json:"cells"`
	// Elsewhere are members that no pod of the cluster hosts.
	Elsewhere int `json:"elsewhere,omitempty"`
}

// Cell is what a group has on one pod.
type Cell struct {
	// Column is the index of the pod.
	Column int `json:"column"`
	// State is the worst of the members there.
	State   model.MemberState `json:"state"`
	Leader  bool              `json:"leader,omitempty"`
	Members int               `json:"members"`
}

// worst sorts states: the higher, the worse.
var worst = map[model.MemberState]int{
	model.MemberActive: 0, model.MemberMoving: 1, model.MemberRecovering: 2, model.MemberUnknown: 3, model.MemberDown: 4,
}

func copiesOf(d status.Decision) Copies {
	groups := slices.Clone(d.Snapshot.Groups)
	holds := map[string]int{}
	for _, h := range d.Plan.Holds {
		if h.Group != "" {
			holds[h.Group]++
		}
	}
	missing := make(map[string]int, len(groups))
	for _, g := range groups {
		missing[g.ID] = len(g.Members) - there(g)
	}
	slices.SortStableFunc(groups, func(a, b model.Group) int {
		return cmp.Or(cmp.Compare(missing[b.ID], missing[a.ID]), cmp.Compare(holds[b.ID], holds[a.ID]), cmp.Compare(a.ID, b.ID))
	})
	c := Copies{Pods: []string{}, Rows: []Row{}}
	if len(groups) > maxGroups {
		c.Hidden = len(groups) - maxGroups
		groups = groups[:maxGroups]
	}
	columns := columnsOf(d.Snapshot, groups)
	for _, pod := range columns {
		c.Pods = append(c.Pods, pod.Name)
	}
	index := make(map[string]int, len(columns))
	for i, pod := range columns {
		index[pod.Name] = i
	}
	for _, g := range groups {
		row := rowOf(g, index)
		row.Holds = holds[g.ID]
		c.Rows = append(c.Rows, row)
	}
	return c
}

func there(g model.Group) int {
	n := 0
	for _, m := range g.Members {
		if m.State == model.MemberActive {
			n++
		}
	}
	return n
}

// columnsOf returns the pods that have a member of one of the groups.
func columnsOf(s model.Snapshot, groups []model.Group) []model.Pod {
	has := map[string]bool{}
	for _, g := range groups {
		for _, m := range g.Members {
			has[m.Pod] = true
		}
	}
	columns := slices.DeleteFunc(slices.Clone(s.Pods), func(p model.Pod) bool { return !has[p.Name] })
	slices.SortFunc(columns, func(a, b model.Pod) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Name, b.Name))
	})
	return columns
}

func rowOf(g model.Group, index map[string]int) Row {
	row := Row{ID: g.ID, Kind: g.Kind, There: there(g), Of: len(g.Members), Cells: []Cell{}}
	cells := map[int]Cell{}
	for _, m := range g.Members {
		column, ours := index[m.Pod]
		if !ours {
			row.Elsewhere++
			continue
		}
		cell, more := cells[column]
		if !more || worst[m.State] > worst[cell.State] {
			cell.State = m.State
		}
		cell.Column = column
		cell.Leader = cell.Leader || m.Leader
		cell.Members++
		cells[column] = cell
	}
	for _, cell := range cells {
		row.Cells = append(row.Cells, cell)
	}
	slices.SortFunc(row.Cells, func(a, b Cell) int { return cmp.Compare(a.Column, b.Column) })
	return row
}
