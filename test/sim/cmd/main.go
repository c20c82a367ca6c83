// Command sim runs simulated rollouts: many seeds with a count of the faults that
// they met, one seed with its timeline, or the planted bugs with the seed that
// finds each. The exit status is 1 when an invariant broke, or a bug was not found.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/sim/run"
)

func main() {
	from := flag.Uint64("from", 1, "first seed")
	seeds := flag.Uint64("seeds", 1000, "how many seeds")
	one := flag.Uint64("seed", 0, "print the timeline of this seed")
	bugs := flag.Bool("bugs", false, "plant every bug and look for a seed that finds it")
	fresh := flag.Bool("fresh", false, "look for bugs from the first seed on, not first where they are known to be found")
	update := flag.Bool("update", false, "write down which seeds find the bugs")
	plant := flag.String("plant", "", "have this bug take part")
	wide := flag.Bool("wide", false, "worlds of three to five pods, as many of each")
	primary := flag.Int("primary", 0, "databases of so many pods with one primary")
	galera := flag.Bool("galera", false, "databases whose members all take writes, as those of Galera")
	replace := flag.Bool("replace", false, "databases whose pods are replaced, on volumes of their own")
	worlds := flag.String("worlds", "all", "all, or old: those that were drawn first, as -wide, -primary and -replace do")
	fault := flag.String("fault", "", "only faults of the class whose name begins so")
	twice := flag.Uint64("twice", 0, "run so many of the seeds twice and compare the runs")
	only := flag.String("only", "", "bugs whose name contains this")
	quiet := flag.Bool("quiet", false, "no faults")
	record := flag.String("record", "", "record what the runs write to their worlds in this file")
	against := flag.String("against", "", "compare what the runs write to their worlds with this file, made by -record")
	renamed := flag.String("renamed", "", "names in that file and their current names: was=is,...")
	profile := flag.String("cpuprofile", "", "write a profile of the processor's time to this file")
	inside := flag.Bool("infested", false, "this build has the bugs in its sources")
	flag.Parse()
	if (*bugs || *plant != "") && !*inside {
		exit(infested(os.Args[1:]...))
	}
	debug.SetGCPercent(2400)
	if *profile != "" {
		file, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "sim:", err)
			os.Exit(1)
		}
	}
	err := func() error {
		defer run.Clean()
		if *bugs {
			return hunt(Hunt{Seeds: *seeds, Only: *only, Fresh: *fresh, Update: *update})
		}
		o, err := infect(*plant)
		o.Quiet = *quiet
		o.Galera = *galera || o.Galera
		o.Wide, o.Primary, o.Replace, o.Old = *wide, *primary, *replace || o.Replace, *worlds == "old"
		for _, class := range run.Classes {
			if *fault != "" && strings.HasPrefix(string(class), *fault) {
				o.Only = class
			}
		}
		c := Courses{From: *from, Seeds: *seeds, Options: o, Renamed: pairs(*renamed)}
		c.World = fmt.Sprintf("worlds %s, wide %t, primary %d, replace %t, fault %q, quiet %t", *worlds, *wide, *primary, *replace, *fault, *quiet)
		if *galera {
			c.World += ", galera"
		}
		switch {
		case err != nil:
			return err
		case *one > 0:
			return timeline(*one, o)
		case *record != "":
			return c.record(*record)
		case *against != "":
			return c.compare(*against, os.Stdout)
		}
		return all(*from, *seeds, *twice, o)
	}()
	pprof.StopCPUProfile()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// infect plants a bug in all runs; an empty name plants none.
func infect(name string) (run.Options, error) {
	every, err := allPrey()
	if err != nil || name == "" {
		return run.Options{}, err
	}
	for _, p := range every {
		if p.name == name {
			p.plant()
			return p.world(), nil
		}
	}
	return run.Options{}, fmt.Errorf("no bug is named %q", name)
}

func timeline(seed uint64, o run.Options) error {
	r, err := run.Seed(seed, o)
	if err != nil {
		return err
	}
	fmt.Printf("%s%d pods went by Rollcall's hand in %s; log %s, course %x\n", r.Log, r.Removals, r.Took.Round(time.Millisecond), r.Sum(), r.Course)
	if len(r.Breaks) > 0 {
		return fmt.Errorf("seed %d: %s", seed, r.Breaks[0])
	}
	return nil
}

// all runs seeds on all processors.
func all(from, seeds, twice uint64, o run.Options) error {
	var (
		mu       sync.Mutex
		next     = from
		hits     = map[string]int{}
		broken   []string
		broke    = map[uint64]string{}
		removals int
		alike    uint64
		virtual  time.Duration
		failed   error
		workers  sync.WaitGroup
	)
	began := time.Now()
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				mu.Lock()
				seed := next
				next++
				stop := seed >= from+seeds || failed != nil
				mu.Unlock()
				if stop {
					return
				}
				r, err := run.Seed(seed, o)
				same := true
				if err == nil && seed < from+twice {
					var again run.Result
					again, err = run.Seed(seed, o)
					same = again.Same(r)
				}
				mu.Lock()
				if err != nil {
					failed = err
				}
				if same && seed < from+twice {
					alike++
				}
				if !same {
					broken = append(broken, fmt.Sprintf("seed %d: two runs that differ", seed))
				}
				for class := range r.Hits {
					hits[string(class)]++
				}
				for shape, is := range r.Scenario.Shapes() {
					if is {
						hits[string(shape)]++
					}
				}
				removals += r.Removals
				virtual += r.Took
				if len(r.Breaks) > 0 {
					broke[seed] = r.Breaks[0].String()
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if failed != nil {
		return failed
	}
	rare := table(hits, seeds, o)
	fmt.Printf("%d seeds, %d pods went by Rollcall's hand, %s of virtual time in %s\n",
		seeds, removals, virtual.Round(time.Second), time.Since(began).Round(time.Second/10))
	if twice = min(twice, seeds); twice > 0 {
		fmt.Printf("same run %d of %d\n", alike, twice)
	}
	var list map[uint64]string
	if isDefault(o) {
		list, failed = open(openFaults)
	}
	if failed != nil {
		return failed
	}
	known, fresh, whole := stillOpen(broke, from, seeds, list)
	for _, seed := range fresh {
		broken = append(broken, fmt.Sprintf("seed %d: %s", seed, broke[seed]))
	}
	if len(known) > 0 {
		fmt.Printf("%d seeds break by faults that are known and NOT MENDED (test/sim/cmd/open.txt)\n", len(known))
	}
	if len(whole) > 0 {
		fmt.Printf("listed there and whole again: %s\n", strings.Join(whole, " "))
	}
	if len(broken) > 0 {
		return fmt.Errorf("%d seeds broke an invariant:\n%s", len(broken), strings.Join(broken, "\n"))
	}
	if seeds >= enough && len(rare) > 0 {
		return fmt.Errorf("too few seeds meet: %s", strings.Join(rare, ", "))
	}
	return nil
}

// Of enough seeds everything that is drawn must be in at least so many of a hundred.
const (
	enough = 2000
	least  = 3.0
)

// table prints in how many runs each fault and each shape of a world was met, and returns which
// were too rare.
func table(hits map[string]int, seeds uint64, o run.Options) (rare []string) {
	for _, what := range run.Drawn(o) {
		share := 100 * float64(hits[what]) / float64(seeds)
		fmt.Printf("%6.1f %%  %s\n", share, what)
		if share < least {
			rare = append(rare, what)
		}
	}
	return rare
}
