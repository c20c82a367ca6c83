package policy

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
	"github.com/rollcall-dev/rollcall/coordinator/policy/forecast"
)

// Decide is the plan for a snapshot: which pods should go, in which order, which go now, and which
// rule holds each of the others.
//
// It is total: bad input is a hold by the rule bad-input. It depends on nothing but its argument,
// writes nothing of it, and does not depend on the order of any list in it except that of the
// pools.
func Decide(s model.Snapshot) model.Plan {
	d := newDecision(&s, "", false)
	d.pass()
	return d.plan()
}

// Explain returns every rule that holds a pod now, in the order of the rules. The first is the one
// that the plan names. It is empty for a pod that goes, or should not go.
func Explain(s model.Snapshot, pod string) []model.Hold {
	d := newDecision(&s, "", false)
	d.explain = pod
	d.pass()
	return d.explained
}

// decision is one run over a snapshot.
type decision struct {
	x        *cluster.Index
	problems []model.InputProblem
	over     overrides
	ledger   *cluster.Ledger
	flights  *cluster.Flights
	budget   model.Budget // before the pass
	order    []candidate
	own      string // the pod whose claim is ignored
	drained  bool   // rechecked after the drain
	curing   bool   // the pod that is asked about has a broken copy, and goes before its turn
	// corrected is the pod with whose correction the rechecked pod goes. The partition frees it
	// afterwards.
	corrected *cluster.Pod

	simulated        *forecast.Rollout
	simulatedSeconds float64 // of the sequence; 0 if it was not simulated
	sequence         []int32 // in which the candidates are asked, by place in the order

	findings []*finding       // of the rules of the whole cluster, by place in rules
	outdated []bool           // by pool
	refusals []refusal        // of new versions, in the order of the pools
	begun    bool             // an outage has begun, and some pods have yet to follow
	crossing []bool           // by pool: what runs does not talk to the new version, so all go at once
	behind   *behind          // nil if no pod would stay behind
	lowest   *cluster.Pod     // the lowest rank that is outdated, unavailable or chosen
	lowAway  *cluster.Pod     // the lowest rank that is unavailable or chosen
	lowSame  *cluster.Pod     // the same, or going and not outdated
	turns    [][]*cluster.Pod // of OrderedReady pools: the pods that are unavailable or chosen
	lasts    []int            // places in the order of the pods that go last
	freed    []bool           // by pod: the partition is to be lowered to it
	canary   []canaryPool
	waiting  []waiting      // by pool: the pods below its partition
	raised   []*cluster.Pod // by pool: the pod for which its partition goes back up
	stuck    bool           // one of them is broken, and the partition cannot be lowered to it

	isChosen []bool // by pod
	needed   int    // room that the rest of the current unit needs
	taken    []int  // places in the order
	steps    []model.Step
	waits    []wait // of held pods, by place in the order
	holds    []model.Hold
	retryAt  time.Time

	explain   string
	explained []model.Hold
}

// canaryPool counts the pods of a pool that have gone for its update revision.
type canaryPool struct {
	gone, chosen int
	back         []time.Time    // since when the returned ones are settled, the longest first
	soaking      int            // those that only have to soak
	lost         []*cluster.Pod // those that have not returned for another reason
}

// newDecision begins a run. The claim of the pod own, if there is one, is ignored.
func newDecision(s *model.Snapshot, own string, prepared bool) *decision {
	d := &decision{problems: model.Validate(s), own: own, drained: prepared}
	d.x = cluster.New(s, own)
	d.over = activeOverrides(d.x.Spec.Overrides, d.x.Now)
	d.ledger = cluster.NewLedger(d.x)
	d.flights = cluster.NewFlights(d.x)
	d.budget = d.ledger.Budget()
	d.isChosen = make([]bool, len(d.x.Pods))
	if !slices.ContainsFunc(d.problems, func(p model.InputProblem) bool { return p.Identity }) {
		d.order = sorted(d.x, candidates(d.x))
	}
	d.waits = make([]wait, len(d.order))
	d.look()
	d.refusals = d.refuseVersions()
	d.crossing = d.partitionChanges()
	d.begun = d.outageBegun()
	d.addWaiting()
	d.findings = make([]*finding, len(rules))
	for i := range rules {
		if rules[i].cluster != nil {
			d.findings[i] = rules[i].cluster(d)
		}
	}
	return d
}

// trial returns a new decision on the same snapshot, in which no pod has been chosen.
func (d *decision) trial() *decision {
	trial := newDecision(d.x.Snapshot, d.own, d.drained)
	trial.behind = d.behind
	return trial
}

// look gathers what the rules compare a candidate with.
func (d *decision) look() {
	d.outdated = make([]bool, len(d.x.Pools))
	d.turns = make([][]*cluster.Pod, len(d.x.Pools))
	d.canary = make([]canaryPool, len(d.x.Pools))
	d.freed = make([]bool, len(d.x.Pods))
	for i := range d.order {
		d.freed[d.order[i].At] = d.order[i].frees()
		d.outdated[d.order[i].PoolPos] = d.outdated[d.order[i].PoolPos] || cluster.IsOutdated(d.order[i].Pod)
	}
	for i := range d.order {
		if d.order[i].Last {
			d.lasts = append(d.lasts, i)
		}
		if c := &d.order[i]; d.holdsRanks(c) {
			lower(&d.lowest, c.Pod)
			if !cluster.IsOutdated(c.Pod) {
				lower(&d.lowSame, c.Pod)
			}
		}
	}
	for i := range d.x.Pods {
		p := &d.x.Pods[i]
		if p.Unavailable {
			d.turn(p)
			if p.Desired {
				d.lowerAll(p)
			}
		}
		if cluster.IsOutdated(p) {
			d.outdated[p.PoolPos] = true
		}
		d.countCanary(p)
	}
	for i := range d.canary {
		slices.SortFunc(d.canary[i].back, time.Time.Compare)
	}
}

func (d *decision) turn(p *cluster.Pod) {
	if p.OwnPool.Management == model.ManagementOrderedReady {
		d.turns[p.PoolPos] = append(d.turns[p.PoolPos], p)
	}
}

func (d *decision) countCanary(p *cluster.Pod) {
	to := p.OwnPool.Revision
	if to == "" || !p.Desired {
		return
	}
	current := p.Phase != model.PodPhaseMissing && p.Revision == to
	if current || p.Claim != nil && p.Claim.To == to && p.Claim.Action != model.ActionRemove {
		d.canary[p.PoolPos].gone++
	}
	pool := &d.canary[p.PoolPos]
	switch {
	case current && !p.Unavailable:
		pool.back = append(pool.back, d.x.SettledSince(p))
	case current && !p.SoakTill.IsZero():
		pool.soaking++
	case current:
		pool.lost = append(pool.lost, p)
	}
}

// pass walks the candidates once and takes what still passes.
func (d *decision) pass() {
	d.behind = d.leftBehind()
	held := d.askAll()
	d.goOutOfOrder(held)
	d.holds = slices.DeleteFunc(held, func(h model.Hold) bool { return h.Rule == "" })
}

// askAll asks about each candidate once, in the sequence, and returns the holds by place in the
// order.
func (d *decision) askAll() []model.Hold {
	d.sequence = d.schedule()
	held := make([]model.Hold, len(d.order)) // an empty one has no rule
	asked := make([]bool, len(d.order))
	for _, i := range d.sequence {
		if asked[i] {
			continue
		}
		if unit, corrected := d.correction(&d.order[i], asked); unit != nil {
			d.corrected = corrected
			d.askUnit(unit, asked, held)
			d.corrected = nil
		}
		if !asked[i] {
			d.askUnit(d.together(int(i), asked), asked, held)
		}
	}
	return held
}

func (d *decision) askUnit(unit []*candidate, asked []bool, held []model.Hold) {
	d.needed = cost(unit)
	for _, c := range unit {
		asked[c.place] = true
		hold, notes := d.ask(c)
		if hold != nil {
			held[c.place] = *hold
			continue
		}
		d.take(c, notes)
	}
}

// ask asks every rule about a candidate. It returns the hold of the first rule that fails, or the
// notes of the overrides that were needed.
func (d *decision) ask(c *candidate) (*model.Hold, []string) {
	var notes []string
	var hold *model.Hold
	for i := range rules {
		r := &rules[i]
		if r.spares(c) || r.sparesBegun && d.follows(c) || c.forced && !asksForced[r.name] {
			continue
		}
		f := d.findings[i]
		if f == nil && r.pod != nil {
			f = r.pod(d, c)
		}
		if f == nil {
			continue
		}
		if o := d.over.of(r.name, c.Name); o != nil && !f.firm && !(r.name == model.RuleVeto && c.cannotBeDone()) {
			notes = append(notes, overrideNote(o))
			d.retry(o.Expires.Time)
			continue
		}
		d.retry(f.retryAt)
		h := model.Hold{Pod: c.Name, Rule: r.name, Group: f.group, Reason: f.reason, Unblocks: f.unblocks}
		if hold == nil {
			hold = &h
			if !d.curing { // otherwise it keeps its hold
				d.waits[c.place] = wait{onRequest: d.onRequest(r.name, c), others: f.others}
			}
		}
		if c.Name != d.explain {
			return hold, nil
		}
		d.explained = append(d.explained, h)
	}
	return hold, notes
}

func (d *decision) take(c *candidate, notes []string) {
	d.steps = append(d.steps, d.step(c, notes))
	d.taken = append(d.taken, c.place)
	d.ledger.Choose(c.Pod)
	d.fly(c)
	d.needed -= cost([]*candidate{c})
	d.x.Take(c.Pod)
	d.turn(c.Pod)
	if c.Desired {
		d.lowerAll(c.Pod)
	}
	if cluster.IsOutdated(c.Pod) && !c.bringsNoUpdate() {
		d.canary[c.PoolPos].chosen++
	}
	d.isChosen[c.At] = true
}

func (d *decision) step(c *candidate, notes []string) model.Step {
	all := append(make([]string, 0, len(notes)), notes...)
	if note := d.inPlaceNote(c); note != "" {
		all = append(all, note)
	}
	all = append(all, d.unprotectedNotes(c)...)
	if c.action == model.ActionReplace {
		all = append(all, "replaced: "+d.replaceText(c))
	}
	s := model.Step{
		Pod: c.Name, UID: c.UID, Unit: c.OwnUnit.Name(), Action: c.action, Prepare: c.prepare, Reason: c.reason,
		OutsideBudget: c.outside, BeforeTurn: d.curing, Notes: all,
	}
	if c.action == model.ActionLowerPartition {
		target := c.Ordinal
		if c.forced {
			target = 0
			s.Notes = append(s.Notes, "forced: "+allowForce+" hands it to its controller, and no rule is asked")
		}
		s.Partition = &target
	}
	return s
}
