// Package rehearsal shows a simulated rollout to people: a database of a chosen
// shape, faults by name, and what happens as a timeline with the plan in the
// words in which Rollcall prints it.
package rehearsal

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/run"
)

// Options say what is rehearsed.
type Options struct {
	// Engine whose shape the database has.
	Engine model.Engine
	// Pods are how many there are, Shards how many shards, each with Copies.
	Pods, Shards, Copies int
	// MaxUnavailable is how many pods may be unavailable.
	MaxUnavailable int
	// Faults by name: NAME, NAME@AT or NAME@AT+FOR.
	Faults []string
	// Seed, when it is not 0, has the run of this seed instead: then all of the
	// above is drawn.
	Seed uint64
}

// Default is a SolrCloud of two pods in each of three zones.
func Default() Options {
	return Options{Engine: model.Solr, Pods: 6, Shards: 4, Copies: 3, MaxUnavailable: 1}
}

// Bounds that keep a rehearsal short.
const (
	maxPods   = 60
	maxShards = 100
	// faultAt is when faults begin unless it is said: the first pod is unavailable.
	faultAt = 4 * time.Second
	// faultMost bounds when faults begin and how long they last.
	faultMost = time.Hour
)

// engines whose shape can be simulated, and what that shape is.
var shapes = map[model.Engine]string{
	model.Solr: "shards of copies with a leader each, and an overseer",
}

// ErrNoShape: the simulated database cannot have the shape of this engine.
var ErrNoShape = errors.New("there is no simulated database of this engine")

// scenario that is asked for.
func (o Options) scenario() (run.Scenario, error) {
	if o.Seed > 0 {
		return run.NewScenario(o.Seed, run.Options{}), nil
	}
	if _, ok := shapes[o.Engine]; !ok {
		return run.Scenario{}, fmt.Errorf("%w: %s; there is Solr (%s)", ErrNoShape, o.Engine, shapes[model.Solr])
	}
	for _, n := range []struct {
		name           string
		value, low, up int
	}{
		{"pods", o.Pods, 1, maxPods}, {"shards", o.Shards, 1, maxShards}, {"copies of a shard", o.Copies, 1, max(o.Pods, 1)},
		{"pods that may be unavailable", o.MaxUnavailable, 1, max(o.Pods, 1)},
	} {
		if n.value < n.low || n.value > n.up {
			return run.Scenario{}, fmt.Errorf("%d %s: %d to %d are possible", n.value, n.name, n.low, n.up)
		}
	}
	s := run.Scenario{
		Replicas: o.Pods, MaxPods: o.MaxUnavailable, MaxShard: 1, Method: model.MethodEvict,
		Lag: 50 * time.Millisecond, Trip: 5 * time.Millisecond, Age: time.Hour,
	}
	for shard := range o.Shards {
		var pods []int
		for c := range o.Copies {
			pods = append(pods, (shard+c)%o.Pods) // neighbours are in different zones
		}
		s.Shards = append(s.Shards, pods)
	}
	for _, text := range o.Faults {
		f, err := parseFault(text)
		if err != nil {
			return run.Scenario{}, err
		}
		s.Faults = append(s.Faults, f)
	}
	return s, nil
}

// parseFault reads NAME, NAME@AT or NAME@AT+FOR.
func parseFault(text string) (run.Fault, error) {
	name, when, timed := strings.Cut(text, "@")
	named, ok := run.ByName(name)
	if !ok {
		return run.Fault{}, fmt.Errorf("there is no fault %q; there are:\n%s", name, Faults())
	}
	f := run.Fault{Name: name, Class: named.Class, At: faultAt, For: named.For}
	if !timed {
		return f, nil
	}
	at, length, long := strings.Cut(when, "+")
	var err error
	if f.At, err = parseTime(text, at); err == nil && long {
		f.For, err = parseTime(text, length)
	}
	return f, err
}

func parseTime(fault, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > faultMost {
		return 0, fmt.Errorf("fault %q: %q is no time from 0s to %s, such as 12s or 1m30s", fault, text, faultMost)
	}
	return d, nil
}

// Faults are the names of all faults with what they do, one a line.
func Faults() string {
	var b strings.Builder
	for _, n := range run.NamedFaults {
		fmt.Fprintf(&b, "  %-17s %s", n.Name, n.Help)
		if n.For > 0 {
			fmt.Fprintf(&b, " (%s)", n.For)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// FaultNames are the names alone.
func FaultNames() []string {
	var out []string
	for _, n := range run.NamedFaults {
		out = append(out, n.Name)
	}
	return out
}

// stage says in words what is rehearsed.
func stage(s run.Scenario) string {
	text := fmt.Sprintf("%s in %s, %s may be unavailable", counted(s.Replicas, "pod"), counted(min(s.Replicas, 3), "zone"), counted(s.MaxPods, "pod"))
	copies := map[int]int{}
	for _, shard := range s.Shards {
		copies[len(shard)]++
	}
	for n := 1; n <= s.Replicas; n++ {
		if copies[n] > 0 {
			text += fmt.Sprintf("; %s of %s", counted(copies[n], "shard"), counted(n, "copy"))
		}
	}
	if len(s.Shards) > 0 {
		text += fmt.Sprintf(", %d of a shard may be unavailable", s.MaxShard)
	}
	return text
}

// unlike says what is not as it is by default in what is rehearsed.
func unlike(s run.Scenario) string {
	text := "unlike by default: "
	if !s.Guarded {
		text += "guard is Off, so Kubernetes refuses nobody who removes a pod; "
	}
	return text + "a pod has 60s to start and a rollout 60s to get on, not 600s; a drain may take 40s, not 300s; pods without an agent are adopted unasked"
}

func counted(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "y"):
		what = strings.TrimSuffix(what, "y") + "ies"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
