package policy

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// together is how many pods the subsets below are made of, at most. What a
// pod may do depends on those before it alone, so longer lists are cut.
const together = 8

// decide returns the order, and what becomes of each: it goes through all
// subsets of those who should go, the fullest first, and takes the first in
// which each pod may go beside those that are considered before it.
func (n *naive) decide() (order []*Pod, steps []Step, held []verdict) {
	order = n.order()
	asked := map[string]bool{}
	for line := n.nextToAsk(order, asked); len(line) > 0; {
		part := line[:min(together, len(line))]
		line = line[len(part):]
		already := n.chosen
		answers := map[[2]int]verdict{}
		passes := func(set, i int) bool {
			before := [2]int{set >> (len(part) - i), i}
			v, known := answers[before]
			if !known {
				n.chosen = slices.Concat(already, members(part[:i], before[0]))
				v = n.ask(part[i], order)
				answers[before] = v
			}
			return v.Rule == ""
		}
		set := 1<<len(part) - 1
		for ; set > 0; set-- {
			if stands(set, len(part), passes) {
				break
			}
		}
		n.chosen = already
		for i, p := range part {
			if goes := set>>(len(part)-1-i)&1 == 1; goes {
				steps = append(steps, n.step(p))
				n.chosen = append(slices.Clone(n.chosen), p.Name)
				continue
			}
			v := n.ask(p, order)
			held = append(held, v)
		}
		if len(line) == 0 {
			line = n.nextToAsk(order, asked)
		}
	}
	slices.SortFunc(held, func(a, b verdict) int {
		return slices.IndexFunc(order, func(p *Pod) bool { return p.Name == a.Pod }) -
			slices.IndexFunc(order, func(p *Pod) bool { return p.Name == b.Pod })
	})
	return order, steps, held
}

// stands: every pod of the subset passes. The first pod is the highest digit.
func stands(set, size int, passes func(set, i int) bool) bool {
	for i := range size {
		if set>>(size-1-i)&1 == 1 && !passes(set, i) {
			return false
		}
	}
	return true
}

func members(pods []*Pod, set int) (names []string) {
	for i, p := range pods {
		if set>>(len(pods)-1-i)&1 == 1 {
			names = append(names, p.Name)
		}
	}
	return names
}

func (n *naive) order() []*Pod {
	var pods []*Pod
	for _, p := range n.everyPodThere() {
		if n.why(p) != "" {
			pods = append(pods, p)
		}
	}
	for i := range pods { // selection sort
		for j := i + 1; j < len(pods); j++ {
			if n.before(pods[j], pods[i]) {
				pods[i], pods[j] = pods[j], pods[i]
			}
		}
	}
	return pods
}

// fellows are the pods that go with one, itself included.
func (n *naive) fellows(p *Pod, order []*Pod) (list []*Pod) {
	for _, o := range order {
		same := n.unit(o) != "" && n.unit(o) == n.unit(p)
		if o == p || same && (n.outage || n.rank(o) == n.rank(p) && n.last(o) == n.last(p)) {
			list = append(list, o)
		}
	}
	return list
}

// nextToAsk is the order with every pod followed by its fellows, from the
// first on that was not asked up to one that may take others with it. Those
// stand before it if all of them may go.
func (n *naive) nextToAsk(order []*Pod, asked map[string]bool) (line []*Pod) {
	n.repairing = nil
	for _, p := range order {
		if asked[p.Name] {
			continue
		}
		unit := n.fellows(p, order)
		if n.mayRepair(p) {
			if len(line) > 0 {
				return line
			}
			if repair := n.repairs(p, order, asked); repair != nil {
				unit, n.repairing = repair, repair
			}
		}
		unit = slices.DeleteFunc(unit, func(o *Pod) bool { return asked[o.Name] })
		if slices.ContainsFunc(unit, n.movesLine) {
			n.highestFirst(unit)
		}
		for _, o := range unit {
			asked[o.Name] = true
			line = append(line, o)
		}
		if n.repairing != nil {
			return line
		}
	}
	return line
}

// ask is the rule that holds a pod, or none.
func (n *naive) ask(p *Pod, order []*Pod) verdict {
	fellows := n.fellows(p, order)
	if slices.Contains(n.repairing, p) {
		fellows = n.repairing
	}
	needs := n.cost(fellows)
	for _, r := range asksEvery {
		fails, group := n.replaceRule(r, p), ""
		if !fails {
			if n.spared(r, p) || n.forced(p) && !askedByForce[r] {
				continue
			}
			fails, group = n.fails(r, p, order, needs)
		}
		firm := r == InOrder && n.comesBackOld(p) || r == Vetoed && p.Refused == Vetoed && n.why(p) == ReasonReplacement
		if fails && (firm || !n.overridden(r, p.Name)) {
			return verdict{p.Name, r, group}
		}
	}
	if n.waitsForLine(p) {
		return verdict{p.Name, InOrder, ""}
	}
	return verdict{Pod: p.Name}
}

func (n *naive) step(p *Pod) Step {
	name := ""
	switch {
	case n.outage:
		name = "All"
	case n.unit(p) != "":
		name = orElse(p.Unit, n.zone(p))
	}
	return Step{
		Pod: p.Name, UID: p.UID, Unit: name, Action: n.action(p), Prepare: n.prepare(p), Reason: n.why(p), OutsideBudget: n.free(p),
		Partition: n.target(p),
	}
}

// restores are the claims to be given up.
func (n *naive) restores(order []*Pod) (steps []Step) {
	early := []ClaimPhase{PhaseClaimed, PhasePreparing, PhasePrepared, PhaseEmptied, PhaseOpened}
	pods := slices.Clone(n.everyPodThere())
	slices.SortFunc(pods, func(a, b *Pod) int {
		if a.Pool != b.Pool {
			return n.poolAt(a.Pool) - n.poolAt(b.Pool)
		}
		return int(b.Ordinal - a.Ordinal)
	})
	for _, p := range pods {
		c := n.claimed(p)
		stays := p.Phase != Missing && p.Phase != Terminating && n.why(p) == ""
		if c != nil && stays && c.UID == p.UID && slices.Contains(early, c.Phase) {
			steps = append(steps, Step{Pod: p.Name, UID: p.UID, Action: Restore, Prepare: orElse(c.Prepare, PrepareNone), Reason: c.Reason})
		}
	}
	return steps
}

// everybodyHeld lists the rules that hold the cluster as a whole.
func (n *naive) everybodyHeld(order []*Pod) (held []verdict) {
	for _, r := range asksEvery {
		fails, group := n.holdsEverybody(r)
		if fails && !n.overridden(r, "") && (len(order) > 0 || r == PoolUnobserved) {
			held = append(held, verdict{"", r, group})
		}
	}
	return held
}

func (n *naive) budget() Budget {
	away := n.awayNow()
	limit, claimed, zones := n.limit(), len(n.strayClaims()), map[string]bool{}
	for _, p := range n.everyPodThere() {
		if n.claimed(p) != nil {
			claimed++
		}
		if z := n.zone(p); z != "" {
			zones[z] = true
		}
	}
	b := Budget{Pods: PodBudget{Limit: limit, Away: len(away), Claimed: claimed, Room: limit - len(away)}}
	if q := n.sp.Policy.MaxZonesUnavailable; q != nil {
		b.Zones.Limit = of(q, len(zones))
	}
	_, b.Zones.Away = n.zonesNow()
	return b
}

// twinNumber is on how many snapshots the twin must agree.
func twinNumber(t *testing.T) int {
	text := os.Getenv("ROLLCALL_TWIN")
	if text == "" {
		return *snapshots
	}
	number, err := strconv.Atoi(text)
	require.NoError(t, err, "ROLLCALL_TWIN")
	return number
}

// TestNaiveTwinAgrees on who should go, in which order, what is done to those
// who go, which rule and group hold each of the others and the whole cluster,
// and what is away.
func TestNaiveTwinAgrees(t *testing.T) {
	number, parts := twinNumber(t), runtime.GOMAXPROCS(0)
	for part := range parts {
		t.Run(fmt.Sprintf("%d of %d", part+1, parts), func(t *testing.T) {
			t.Parallel()
			someSnapshots(t, number, part, parts, func(t *testing.T, g generator, s Snapshot) {
				if g.broken != "" {
					return // the twin judges no input
				}
				want, got := said(newNaive(&s)), told(Decide(s))
				if !reflect.DeepEqual(want, got) {
					require.Equal(t, want, got)
				}
			})
		})
	}
}

// outline is what two implementations must agree on: all but the words.
type outline struct {
	Budget Budget
	Order  []string
	Steps  []Step
	Holds  []verdict
}

func told(p Plan) outline {
	o := outline{Budget: p.Budget, Order: p.Order}
	for _, step := range p.Steps {
		step.Notes = nil
		o.Steps = append(o.Steps, step)
	}
	for _, h := range p.Holds {
		o.Holds = append(o.Holds, verdict{h.Pod, h.Rule, h.Group})
	}
	return o
}

func said(n *naive) outline {
	o := outline{Budget: n.budget(), Order: []string{}}
	order, steps, held := n.decide()
	for _, p := range order {
		o.Order = append(o.Order, p.Name)
	}
	o.Steps = slices.Concat(n.restores(order), steps)
	o.Holds = slices.Concat(n.everybodyHeld(order), held)
	return o
}
