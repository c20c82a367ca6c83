package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rollcall-dev/rollcall/test/sim/oracle"
	"github.com/rollcall-dev/rollcall/test/sim/run"
)

// prey is a bug that is looked for.
type prey struct {
	name, finds string
	bug         *run.Bug // between the parts; nil when it is in the sources
}

// hunt looks for the first seed that finds each bug by an invariant that may.
func hunt(seeds uint64, only string) error {
	changes, err := parse(list)
	if err != nil {
		return err
	}
	var all []prey
	for i := range run.Bugs {
		all = append(all, prey{run.Bugs[i].Name, run.Bugs[i].Finds, &run.Bugs[i]})
	}
	for _, c := range changes {
		all = append(all, prey{c.name, c.finds, nil})
	}
	var missed []string
	found := map[string]int{}
	tried := 0
	for _, p := range all {
		if !strings.Contains(p.name, only) {
			continue
		}
		tried++
		planted("")
		if p.bug == nil {
			planted(p.name)
		}
		seed, b, err := p.track(seeds)
		switch {
		case err != nil:
			return err
		case seed == 0:
			fmt.Printf("NOT FOUND  %s\n", p.name)
			missed = append(missed, p.name)
		default:
			found[b.Invariant]++
			fmt.Printf("%-3s seed %4d  %-45s %s\n", b.Invariant, seed, p.name, b.Why)
		}
	}
	fmt.Printf("%d of %d planted bugs found, by %d invariants\n", tried-len(missed), tried, len(found))
	if len(missed) > 0 {
		return fmt.Errorf("not found in %d seeds: %s", seeds, strings.Join(missed, "; "))
	}
	return nil
}

// track answers the lowest seed that finds the bug; 0: none does.
func (p prey) track(seeds uint64) (uint64, oracle.Break, error) {
	var (
		next    atomic.Uint64
		mu      sync.Mutex
		best    = seeds + 1
		broken  oracle.Break
		failed  error
		workers sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				seed := next.Add(1)
				mu.Lock()
				stop := seed >= best || failed != nil
				mu.Unlock()
				if stop {
					return
				}
				r, err := run.Seed(seed, run.Options{Bug: p.bug})
				mu.Lock()
				if err != nil {
					failed = err
				}
				for _, b := range r.Breaks {
					if seed < best && strings.Contains(" "+p.finds+" ", " "+b.Invariant+" ") {
						best, broken = seed, b
					}
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if failed != nil || best > seeds {
		return 0, broken, failed
	}
	return best, broken, nil
}
