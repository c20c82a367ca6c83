package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// whyAbsent says in which way a pod does not serve, or nothing when it does,
// whatever the cause, on whichever revision. A desired pod that does not serve
// is away and counts in the budget, once. One that is not desired does so only
// while it is claimed, but its copies are not counted on either.
func (x *index) whyAbsent(p *pod) string {
	if p.claim != nil {
		return claimedHow(p.claim)
	}
	if why := p.unready(); why != "" {
		return why
	}
	if x.nodeGone(p) {
		return "on a node that is gone"
	}
	if !p.live {
		switch {
		case p.report == nil:
			return "without a report"
		case p.report.Member == model.NotLive:
			return "not live in the database"
		}
		return "not known to be live in the database"
	}
	if x.leftOpen(p) {
		p.serves = p.desired
		if !x.guards || p.pool.Force {
			return "outdated and left to its controller"
		}
		if p.Guard == model.GuardNone {
			return "outdated without a guard"
		}
		return "outdated with its guard open"
	}
	if p.report != nil && !p.report.Settled {
		return "not settled"
	}
	if till := x.settledSince(p).Add(x.soak); x.soak > 0 && till.After(x.now) {
		p.soakTill = till
		return "soaking"
	}
	return ""
}

func problemText(p *pod) string {
	if p.Problem == model.NoProblem {
		return ""
	}
	return " (" + string(p.Problem) + ")"
}

// unready is how far a pod has come that is not Ready; empty for one that is.
func (p *pod) unready() string {
	switch p.Phase {
	case model.Missing:
		return "missing"
	case model.Terminating:
		return "terminating"
	case model.Pending:
		return "pending" + problemText(p)
	case model.NotStarted:
		return "not started" + problemText(p)
	case model.Started:
		return "not ready" + problemText(p)
	case model.Failed:
		return "failed" + problemText(p)
	case model.Ready:
		return ""
	}
	return "in an unknown phase"
}

// claimedHow says that it is claimed, and how far the claim is when that is further.
func claimedHow(c *model.Claim) string {
	switch c.Phase {
	case model.PhaseClaimed:
		return "claimed"
	case "":
		return "claimed, phase unknown"
	}
	return "claimed, " + strings.ToLower(string(c.Phase))
}

// settledSince is where soaking is measured from.
func (x *index) settledSince(p *pod) time.Time {
	since := p.Since.Time
	if r := p.report; r != nil && r.SettledSince != nil && r.SettledSince.After(since) {
		since = r.SettledSince.Time
	}
	return since
}

// leftOpen: the StatefulSet controller takes this pod as soon as it likes, so
// it is on its way although it still runs.
func (x *index) leftOpen(p *pod) bool {
	return p.pool.Strategy == model.RollingUpdateStrategy && p.Ordinal >= p.pool.Partition &&
		isOutdated(p) && !(x.guards && p.Guard == model.GuardClosed)
}

// isOutdated compares the pod's own label with its pool's update revision.
func isOutdated(p *pod) bool {
	return p.Phase != model.Missing && p.pool.Observed && p.pool.Revision != "" && p.Revision != p.pool.Revision
}

// ledger is what may be away, what is, and what a pass has added to it.
type ledger struct {
	most      int             // pods that may be away
	units     map[unitKey]int // desired pods of each
	limit     int             // the same, or a whole unit if that is more
	away      []*pod          // in canonical order, before the pass
	claimed   int
	serving   int    // those of away that still serve, as long as they are not chosen
	chosen    []*pod // what the pass has added
	byHand    int    // claimed or chosen, in the snapshot or not
	text      string // of awayText, empty when it must be made anew
	zoneLimit int
	zones     zoneSet // with a pod away
	handZones zoneSet // with a pod claimed or chosen
}

func newLedger(x *index) *ledger {
	b := &ledger{units: x.unitSizes()}
	b.most, _ = x.spec.Policy.MaxUnavailable.Resolve(x.desired)
	b.limit = b.most
	for _, size := range b.units {
		b.limit = max(b.limit, size)
	}
	if x.noAgents {
		b.most, b.limit = 1, 1 // nobody can say what a second one would take away
	}
	known := map[string]bool{}
	for i := range x.pods {
		p := &x.pods[i]
		if p.zone != "" {
			known[p.zone] = true
		}
		if p.claim != nil {
			b.claimed++
			b.handZones.add(p)
		}
		if p.away {
			b.away = append(b.away, p)
			b.serving += count(p.serves)
			b.zones.add(p)
		}
	}
	for _, p := range x.claimedUnseen() {
		p.unit = x.unitOf(p)
		b.claimed++
		b.handZones.add(p)
		b.away = append(b.away, p)
		b.zones.add(p)
	}
	b.byHand = b.claimed
	if q := x.spec.Policy.MaxZonesUnavailable; q != nil {
		b.zoneLimit, _ = q.Resolve(len(known))
	}
	return b
}

// unseen is the place of a pod that the snapshot does not have.
const unseen = -1

// claimedUnseen stand for the pods of claims that the snapshot does not have:
// what was claimed stays charged until the claim is released.
func (x *index) claimedUnseen() []*pod {
	var list []*pod
	for name, c := range x.claims {
		if _, seen := x.byName[name]; !seen {
			list = append(list, &pod{
				Pod: &model.Pod{Name: name, Phase: model.Missing}, at: unseen, claim: c, zone: c.Zone, away: true, awayWhy: claimedHow(c),
			})
		}
	}
	slices.SortFunc(list, func(a, b *pod) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// howAway says in which way the pod is away, or that it is going to be.
func (p *pod) howAway() string { return cmp.Or(p.awayWhy, "chosen") }

// choose charges a pod that a pass has chosen. A pod that is away already
// costs nothing more.
func (b *ledger) choose(p *pod) {
	b.byHand += count(p.claim == nil) // a broken successor is counted by its claim
	b.handZones.add(p)
	if p.away {
		b.serving -= count(p.serves)
		return
	}
	b.chosen = append(b.chosen, p)
	b.text = ""
	b.zones.add(p)
}

// limitFor is how many may be away with the pod: a whole unit only where nobody else is.
func (b *ledger) limitFor(p *pod) int {
	size := b.units[p.unit]
	if size <= b.most || b.limit <= b.most {
		return b.most
	}
	for _, list := range [][]*pod{b.away, b.chosen} {
		if slices.ContainsFunc(list, func(o *pod) bool { return o.unit != p.unit }) {
			return b.most
		}
	}
	return size
}

func (b *ledger) used() int { return len(b.away) + len(b.chosen) }

// unblocks names a pod whose return would make room.
func (b *ledger) unblocks() string {
	switch {
	case len(b.away) > 0:
		return orAdvice(b.away[0].Name+" back", b.away[0])
	case len(b.chosen) > 0:
		return b.chosen[0].Name + " back"
	}
	return "a higher limit"
}

// awayText lists who is away or chosen, at most a few of them.
func (b *ledger) awayText() string {
	if b.text == "" {
		b.text = b.listAway()
	}
	return b.text
}

func (b *ledger) listAway() string {
	const most = 3
	var names []string
	for _, p := range b.away[:min(most, len(b.away))] {
		names = append(names, fmt.Sprintf("%s (%s)", p.Name, p.awayWhy))
	}
	for _, p := range b.chosen[:min(most-len(names), len(b.chosen))] {
		names = append(names, p.Name+" (chosen)")
	}
	return fewOf(names, b.used())
}

// firstFew names the first few of all, and says how many more there are.
func firstFew[T any](all []T, name func(T) string) string {
	const most = 3
	var names []string
	for _, one := range all[:min(most, len(all))] {
		names = append(names, name(one))
	}
	return fewOf(names, len(all))
}

// fewOf joins the first few of so many.
func fewOf(few []string, all int) string {
	if left := all - len(few); left > 0 {
		few = append(few, fmt.Sprintf("%d more", left))
	}
	return strings.Join(few, ", ")
}

func (b *ledger) plan() model.Budget {
	return model.Budget{
		Pods:  model.PodBudget{Limit: b.limit, Away: len(b.away), Claimed: b.claimed, Room: b.limit - len(b.away)},
		Zones: model.ZoneBudget{Limit: b.zoneLimit, Away: b.zones.number()},
	}
}
