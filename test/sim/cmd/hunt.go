package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/coordinator/sim/oracle"
	"github.com/rollcall-dev/rollcall/coordinator/sim/run"
)

// prey is a bug that is searched for.
type prey struct {
	name string
	// finds are the invariants that may notice, each with a space on both sides.
	finds string
	bug   *run.Bug // between the parts; nil when it is in the sources
}

// allPrey are the planted bugs.
func allPrey() ([]prey, error) {
	changes, err := parse(list)
	if err != nil {
		return nil, err
	}
	var all []prey
	for i := range run.Bugs {
		all = append(all, prey{run.Bugs[i].Name, " " + run.Bugs[i].Finds + " ", &run.Bugs[i]})
	}
	for _, c := range changes {
		all = append(all, prey{c.name, " " + c.finds + " ", nil})
	}
	return all, nil
}

// Hunt says how bugs are searched for.
type Hunt struct {
	// Seeds is how many seeds are tried for each bug.
	Seeds uint64
	// Only restricts the hunt to bugs whose name contains this text.
	Only string
	// Fresh means that the hunt begins with the first seed, not with one that is known to find the
	// bug.
	Fresh bool
	// Update writes down which seeds find the bugs.
	Update bool
}

// hunt looks for a seed that finds each bug by an invariant that may, and for
// invariants that no bug breaks.
func hunt(h Hunt) error {
	all, err := allPrey()
	if err != nil {
		return err
	}
	known, err := parseSeeds(seedList)
	if err != nil {
		return err
	}
	var missed []string
	shown := map[string]bool{}
	tried := 0
	for _, p := range all {
		if !strings.Contains(p.name, h.Only) {
			continue
		}
		tried++
		hint := known[p.name]
		if h.Fresh {
			hint = 0
		}
		seed, b, others, err := p.find(order(hint, h.Seeds))
		switch {
		case err != nil:
			return err
		case seed == 0:
			fmt.Printf("NOT FOUND    %-50s ; broke: %v\n", p.name, others)
			missed = append(missed, p.name)
			delete(known, p.name)
		default:
			known[p.name], shown[b.Invariant] = seed, true
			fmt.Printf("%-3s seed %4d  %-50s %s\n", b.Invariant, seed, p.name, b.Why)
		}
	}
	var dark []string
	for _, i := range oracle.Invariants {
		if !shown[i.Name] {
			dark = append(dark, i.Name)
		}
	}
	fmt.Printf("%d of %d planted bugs found, by %d of %d invariants\n", tried-len(missed), tried, len(shown), len(oracle.Invariants))
	if h.Update {
		if err := os.WriteFile(seedsFile, []byte(writeSeeds(all, known)), 0o600); err != nil {
			return err
		}
	}
	var failed []error
	if len(missed) > 0 {
		failed = append(failed, fmt.Errorf("not found in %d seeds: %s", h.Seeds, strings.Join(missed, "; ")))
	}
	if h.Only == "" && len(dark) > 0 {
		failed = append(failed, fmt.Errorf("no bug breaks %s", strings.Join(dark, ", ")))
	}
	return errors.Join(failed...)
}

// world is one in which the bug can be noticed: volumes are deleted only where
// pods are replaced, and only Galera has a primary component.
func (p prey) world() run.Options {
	return run.Options{Bug: p.bug, Enough: p.noticed, Replace: strings.Contains(p.finds, " V1 ") || strings.Contains(p.finds, " V2 "), Galera: strings.Contains(p.finds, " G")}
}

// find tracks the bug to a seed that breaks nothing without it: a bug in the sources that
// takes part before it is planted, or a seed that is known to break, would find all of them.
func (p prey) find(seeds []uint64) (uint64, oracle.Break, map[string]int, error) {
	for {
		p.plant()
		seed, broken, others, err := p.track(seeds)
		if err != nil || seed == 0 {
			return 0, broken, others, err
		}
		planted("")
		healthy := prey{finds: p.finds}
		r, err := run.Seed(seed, healthy.world())
		if err != nil {
			return 0, broken, others, err
		}
		if !slices.ContainsFunc(r.Breaks, p.noticed) {
			return seed, broken, others, nil
		}
		fmt.Fprintf(os.Stderr, "seed %d breaks %s without a bug, too\n", seed, broken.Invariant)
		seeds = seeds[slices.Index(seeds, seed)+1:]
	}
}

// plant activates the bug if it is in the sources, and no other one.
func (p prey) plant() {
	planted("")
	if p.bug == nil {
		planted(p.name)
	}
}

// order returns the order of seeds: a hint first, if there is one, and then all up to a number.
func order(hint, seeds uint64) []uint64 {
	var out []uint64
	if hint > 0 {
		out = append(out, hint)
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		if seed != hint {
			out = append(out, seed)
		}
	}
	return out
}

// mute is the number of seeds after which progress is printed.
const mute = 100

// track tries seeds in their order on all processors, and returns the first one that finds the bug,
// and how often other invariants broke; 0 means none does.
func (p prey) track(seeds []uint64) (uint64, oracle.Break, map[string]int, error) {
	var (
		mu      sync.Mutex
		next    int
		best    = len(seeds)
		broken  oracle.Break
		failed  error
		others  = map[string]int{}
		workers sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				mu.Lock()
				at := next
				next++
				if at >= best || failed != nil {
					mu.Unlock()
					return
				}
				if at > 0 && at%mute == 0 {
					fmt.Fprintf(os.Stderr, "... %d seeds without: %s; others %v\n", at, p.name, others)
				}
				mu.Unlock()
				r, err := run.Seed(seeds[at], p.world())
				mu.Lock()
				if err != nil {
					failed = err
				}
				if b := slices.IndexFunc(r.Breaks, p.noticed); b >= 0 && at < best {
					best, broken = at, r.Breaks[b]
				}
				for _, b := range r.Breaks {
					others[b.Invariant]++
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if failed != nil || best == len(seeds) {
		return 0, broken, others, failed
	}
	return seeds[best], broken, others, nil
}

// noticed reports whether a break is by an invariant that may notice the bug.
func (p prey) noticed(b oracle.Break) bool { return strings.Contains(p.finds, " "+b.Invariant+" ") }
