// Package search tries all orders in which two coordinators can act on one
// database, to a number of steps. DESIGN.md of coordinator/sim says what it looks for.
//
// Its database has no primary, so no pod is labelled with its role: labels remove no pod, and each of
// their writes would multiply the orders. All orders of two leaders that label pods, request by request,
// are tried by TestTwoLabellersAtEveryRequest of coordinator/act.
package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// Options are the options of a search.
type Options struct {
	// Steps is how many steps are tried from each start.
	Steps int
	// Lead is how far A has got at most, undisturbed, when B may begin to act: the
	// search starts from every point up to that.
	Lead int
	// From is the first of those points.
	From int
	// Losses is how many answers may be lost on one path, and Terms how often a
	// leader takes over at most.
	Losses, Terms int
	// Careless is the planted bug.
	Careless Careless
}

// Result is the result of a search.
type Result struct {
	Starts, States, Transitions int
	// Interleavings are the paths that the states stand for.
	Interleavings uint64
	// Broken is a violation that was found, and Trace the fewest steps to it.
	Broken string
	Trace  []string
}

func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d interleavings from %d starts: %d states, %d transitions", r.Interleavings, r.Starts, r.States, r.Transitions)
	if r.Broken == "" {
		return b.String()
	}
	fmt.Fprintf(&b, "\n%s:\n", r.Broken)
	for i, step := range r.Trace {
		fmt.Fprintf(&b, "%3d  %s\n", i+1, step)
	}
	return b.String()
}

// Steps of a path are numbers of choices, or one of these.
const (
	undisturbed = -1 // A continues as if it were alone
	secondReads = -2 // B makes its first request
)

// node is a state of the world, with a way to it.
type node struct {
	path    []int
	choices []choice
	next    []*node
	// from is the state before, and via the choice that led here.
	from *node
	via  int
	// ways counts the paths to it by how many steps from a start they have.
	ways []uint64
}

// Run searches. It ends at the first violation, to which no shorter way exists.
func Run(o Options) Result {
	s := &searcher{Options: o}
	level := &layer{states: map[digest]*node{}}
	for length := o.From; length <= o.Lead+o.Steps; length++ {
		if length <= o.Lead {
			for _, path := range starts(length) {
				if n := s.visit(level, path, nil); n.ways[0] == 0 {
					n.ways[0] = 1
					s.Starts++
				}
			}
		}
		next := &layer{states: map[digest]*node{}}
		for _, n := range level.order {
			if s.Broken != "" {
				return s.Result
			}
			s.expand(n, next)
		}
		level = next
	}
	return s.Result
}

// layer is all states of one length.
type layer struct {
	states map[digest]*node
	order  []*node
}

// visit follows a path and records where it leads.
func (s *searcher) visit(in *layer, path []int, from *node) *node {
	at := s.play(path)
	n := in.states[at.state]
	if n == nil {
		n = &node{path: path, choices: at.choices, from: from, ways: make([]uint64, s.Steps+1)}
		if from != nil {
			n.via = path[len(path)-1]
		}
		in.states[at.state] = n
		in.order = append(in.order, n)
		s.States++
	}
	return n
}

// expand continues from a state with every choice.
func (s *searcher) expand(n *node, next *layer) {
	if n.open() == 0 || len(n.choices) == 0 {
		for _, ways := range n.ways {
			s.Interleavings += ways
		}
		return
	}
	s.Interleavings += n.ways[s.Steps]
	for i := range n.choices {
		child := n.around(i)
		if child == nil {
			child = s.visit(next, append(append([]int{}, n.path...), i), n)
		}
		s.Transitions++
		n.next = append(n.next, child)
		for d, ways := range n.ways[:s.Steps] {
			child.ways[d+1] += ways
		}
	}
}

// around finds where a choice leads without going there: if it makes no difference
// to what led here, the two lead to the same state in the other order.
func (n *node) around(i int) *node {
	if n.from == nil {
		return nil
	}
	last := n.from.choices[n.via]
	other := slices.IndexFunc(n.from.choices, func(c choice) bool { return c.label == n.choices[i].label })
	if other < 0 || other >= len(n.from.next) || !last.apart(n.choices[i]) {
		return nil
	}
	beside := n.from.next[other]
	then := slices.IndexFunc(beside.choices, func(c choice) bool { return c.label == last.label })
	if then < 0 || then >= len(beside.next) {
		return nil
	}
	return beside.next[then]
}

// open counts the paths to a node that may go on.
func (n *node) open() (count uint64) {
	for _, ways := range n.ways[:len(n.ways)-1] {
		count += ways
	}
	return count
}

// starts returns the ways to begin with this many steps: A alone, or with B's first read, which
// changes nothing, somewhere among them.
func starts(length int) [][]int {
	alone := make([]int, length)
	for i := range alone {
		alone[i] = undisturbed
	}
	all := [][]int{alone}
	for i := range length {
		with := append([]int{}, alone...)
		with[i] = secondReads
		all = append(all, with)
	}
	return all
}

type searcher struct {
	Options
	Result
}

type seen struct {
	state   digest
	choices []choice
}

// play follows a path from the beginning of the world.
func (s *searcher) play(path []int) (end seen) {
	synctest.Test(new(testing.T), func(*testing.T) {
		w := newWorld(s.Options)
		ctx, cancel := context.WithCancel(context.Background())
		running := w.run(ctx)
		synctest.Wait()
		trace := make([]string, 0, len(path))
		for _, step := range path {
			c := pick(w.choices(), step)
			line := c.label
			if result := c.do(); result != "" {
				line += ": " + result
			}
			trace = append(trace, line)
			synctest.Wait()
		}
		end = seen{w.state(), w.choices()}
		for i := range end.choices {
			end.choices[i].do = nil // the world ends with the path
		}
		if w.wrong != "" {
			s.Broken, s.Trace = w.wrong, trace
		}
		cancel()
		running.Wait()
	})
	return end
}

func pick(list []choice, step int) choice {
	if step >= 0 {
		return list[step]
	}
	by := map[int]string{undisturbed: "A", secondReads: "B"}[step]
	for _, c := range list {
		if c.by == by && !c.rare {
			return c
		}
	}
	return list[len(list)-1] // the pod that A waits for
}
