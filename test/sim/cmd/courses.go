package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/coordinator/sim/run"
)

// course is the run of one seed.
type course struct {
	seed uint64
	// digest is of the times of all events.
	digest string
	// writes is what was written, then which invariants broke; at has the times.
	at, writes []string
}

func courseOf(seed uint64, r run.Result) course {
	c := course{seed: seed, digest: fmt.Sprintf("%016x", r.Course)}
	for _, w := range r.Writes {
		c.add(fmt.Sprintf("%.3f", w.At.Seconds()), w.What)
	}
	for _, b := range r.Breaks {
		c.add("-", "breaks "+b.Invariant)
	}
	return c
}

func (c *course) add(at, write string) { c.at, c.writes = append(c.at, at), append(c.writes, write) }

// Courses says which runs to record or to compare.
type Courses struct {
	// From is the first seed, Seeds how many there are.
	From, Seeds uint64
	// World describes the options besides the seeds.
	World string
	// Renamed has recorded names, each followed by the current one.
	Renamed []string
	Options run.Options
}

// pairs returns the pairs of names: was=is,...
func pairs(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '=' || r == ',' })
}

// run runs one seed.
func (c Courses) run(seed uint64) (course, error) {
	o := c.Options
	o.Record = true
	r, err := run.Seed(seed, o)
	return courseOf(seed, r), err
}

// each runs all seeds on all processors, and passes on their courses in the order of the seeds.
func (c Courses) each(done func(course) error) error {
	type slot struct {
		course course
		err    error
	}
	slots := make([]chan slot, c.Seeds)
	for i := range slots {
		slots[i] = make(chan slot, 1)
	}
	var mu sync.Mutex
	var workers sync.WaitGroup
	next, stop := uint64(0), false
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				over := stop || i >= c.Seeds
				mu.Unlock()
				if over {
					return
				}
				course, err := c.run(c.From + i)
				slots[i] <- slot{course, err}
			}
		})
	}
	var failed error
	for i := range slots {
		s := <-slots[i]
		if failed = s.err; failed == nil {
			failed = done(s.course)
		}
		if failed != nil {
			break
		}
	}
	mu.Lock()
	stop = true
	mu.Unlock()
	workers.Wait()
	return failed
}

// record writes the courses to a file.
func (c Courses) record(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	fmt.Fprintln(out, c.World)
	err = c.each(func(course course) error { return course.write(out) })
	return errors.Join(err, out.Flush(), file.Close())
}

func (c *course) write(out io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d %s\n", c.seed, c.digest)
	for i, write := range c.writes {
		fmt.Fprintf(&text, "%9s %s\n", c.at[i], write)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// readCourses reads a file that record wrote: the world, and the courses by seed.
func readCourses(text string) (string, map[uint64]course, error) {
	world, rest, _ := strings.Cut(text, "\n")
	all := map[uint64]course{}
	var c course
	for line := range strings.Lines(rest) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		switch {
		case len(fields) == 3 && fields[0] == "seed":
			c = course{digest: fields[2]}
			if _, err := fmt.Sscan(fields[1], &c.seed); err != nil {
				return "", nil, fmt.Errorf("seed %q: %w", fields[1], err)
			}
		case len(fields) < 2 || c.seed == 0:
			return "", nil, fmt.Errorf("neither a seed nor a write: %q", line)
		default:
			at, write, _ := strings.Cut(strings.TrimSpace(line), " ")
			c.add(at, write)
		}
		all[c.seed] = c
	}
	return world, all, nil
}

// alike counts how runs compare with the recorded ones.
type alike struct{ same, retimed, other int }

// compare runs the seeds again, and prints the first write that differs for each.
func (c Courses) compare(name string, out io.Writer) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	world, were, err := readCourses(strings.NewReplacer(c.Renamed...).Replace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if world != c.World {
		return fmt.Errorf("%s was recorded of %q, and these are %q", name, world, c.World)
	}
	var n alike
	err = c.each(func(is course) error {
		was, ok := were[is.seed]
		if !ok {
			return fmt.Errorf("%s has no seed %d", name, is.seed)
		}
		var err error
		for i := 0; i < again && err == nil && first(was, is) >= 0; i++ {
			is, err = c.run(is.seed)
		}
		n.count(was, is, out)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d seeds: %d the same run, %d with the same writes at other times, %d with other writes\n", c.Seeds, n.same, n.retimed, n.other)
	if n.other > 0 {
		return fmt.Errorf("%d seeds write something else than recorded", n.other)
	}
	return nil
}

// again is how often a seed is run again before it counts as different: on a busy
// machine, two runs of one seed may differ now and then.
const again = 2

// first returns the index of the first write that differs, or -1.
func first(was, is course) int {
	for i := range max(len(was.writes), len(is.writes)) {
		if i >= len(was.writes) || i >= len(is.writes) || was.writes[i] != is.writes[i] {
			return i
		}
	}
	return -1
}

func (n *alike) count(was, is course, out io.Writer) {
	i := first(was, is)
	switch {
	case i >= 0:
		n.other++
		fmt.Fprintf(out, "seed %d, write %d\n  after %s\n  was   %s\n  is    %s\n", is.seed, i, is.text(i-1), was.text(i), is.text(i))
	case was.digest != is.digest:
		n.retimed++
	default:
		n.same++
	}
}

// text returns a write with its time.
func (c *course) text(i int) string {
	if i < 0 || i >= len(c.writes) {
		return "nothing"
	}
	return c.at[i] + " " + c.writes[i]
}
