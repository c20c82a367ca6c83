package model

import (
	"fmt"
	"slices"
)

// Redundancy is a redundancy mode, in the words of status.
type Redundancy string

// The modes that the model knows.
const (
	Single        Redundancy = "single"
	Double        Redundancy = "double"
	Triple        Redundancy = "triple"
	ThreeDataHall Redundancy = "three_data_hall"
)

// Valid reports whether the model knows the mode.
func (r Redundancy) Valid() error {
	if slices.Contains([]Redundancy{Single, Double, Triple, ThreeDataHall}, r) {
		return nil
	}
	return fmt.Errorf("redundancy %q: want single, double, triple or three_data_hall", string(r))
}

// Copies returns the copies of each shard.
func (r Redundancy) Copies() int {
	switch r {
	case Single:
		return 1
	case Double:
		return 2
	default:
		return 3
	}
}

// LogCopies returns the log copies of each mutation.
func (r Redundancy) LogCopies() int {
	if r == ThreeDataHall {
		return 4
	}
	return r.Copies()
}

// coordinators that are wanted.
func (r Redundancy) coordinators() int {
	switch r {
	case Single:
		return 1
	case Double:
		return 3
	case Triple:
		return 5
	default:
		return 9
	}
}

// apart reports whether two copies of a shard may be in these two processes.
func (r Redundancy) apart(a, b *Process) bool {
	if r == ThreeDataHall && a.Hall == b.Hall {
		return false
	}
	return a.Zone != b.Zone
}

// pushable reports whether these processes can hold all copies of a mutation.
func (r Redundancy) pushable(processes []*Process) bool {
	if r != ThreeDataHall {
		return countZones(processes) >= r.LogCopies()
	}
	halls := 0
	for _, hall := range distinct(processes, func(p *Process) string { return p.Hall }) {
		var within []*Process
		for _, p := range processes {
			if p.Hall == hall {
				within = append(within, p)
			}
		}
		if countZones(within) >= 2 {
			halls++
		}
	}
	return halls >= 2
}

// firstLogs puts those first that a mutation can be pushed to, when there are such: for three_data_hall two zones in each of
// two halls.
func (r Redundancy) firstLogs(processes []*Process) []*Process {
	if r != ThreeDataHall {
		return processes
	}
	var first []*Process
	halls := 0
	for _, hall := range distinct(processes, func(p *Process) string { return p.Hall }) {
		within := spread(slices.DeleteFunc(slices.Clone(processes), func(p *Process) bool { return p.Hall != hall }), 2)
		if halls < 2 && countZones(within) == 2 {
			first, halls = append(first, within...), halls+1
		}
	}
	for _, p := range processes {
		if !slices.Contains(first, p) {
			first = append(first, p)
		}
	}
	return first
}

func countZones(processes []*Process) int {
	return len(distinct(processes, func(p *Process) string { return p.Zone }))
}

// distinct values, in the order in which they appear.
func distinct[T any](all []T, key func(T) string) []string {
	var out []string
	for _, x := range all {
		if k := key(x); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}
