package policy

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/forecast"
)

// forecast simulates the rollout from here as if all else were well: each
// candidate goes as soon as the budgets allow, in the sequence in which they
// are asked, takes as long as estimated and soaks.
func (d *decision) forecast() model.Forecast {
	if len(d.order) == 0 && d.ledger.claimed == 0 {
		return model.Forecast{}
	}
	return d.rollout().Forecast(d.sequence, d.simulatedSeconds)
}

// rollout is made when it is first asked for.
func (d *decision) rollout() *forecast.Rollout {
	if d.simulated == nil {
		d.simulated = rolloutOf(d)
	}
	return d.simulated
}

// rolloutOf makes jobs of the candidates and of who is away. Its resources are the groups,
// in the order of the index, and the OrderedReady pools.
func rolloutOf(d *decision) *forecast.Rollout {
	x := d.x
	limits := forecast.Limits{Jobs: d.ledger.limit, Zones: d.ledger.zoneLimit, Resources: make([]int32, len(x.groups), len(x.groups)+len(x.pools))}
	for i := range x.groups {
		limits.Resources[i] = x.groups[i].limit
		if x.groups[i].domains != nil {
			limits.Resources[i] = forecast.NoLimit // a share would not say with whom it is missing
		}
	}
	pools := make([]int32, len(x.pools)) // the resource of each pool that is OrderedReady, else -1
	for i := range x.pools {
		pools[i] = -1
		if x.pools[i].Management == model.OrderedReady {
			pools[i] = int32(len(limits.Resources))
			limits.Resources = append(limits.Resources, 1)
		}
	}
	jobs := len(d.order) + len(d.ledger.away)
	r := forecast.New(limits, jobs, len(x.hosted)+jobs)
	should := make([]bool, len(x.pods))
	var segment, class int32
	for i := range d.order {
		c := &d.order[i]
		should[c.at] = true
		if i > 0 {
			segment += int32(count(beginsSegment(&d.order[i-1], c)))
			class += int32(count(!interchangeable(&d.order[i-1], c)))
		}
		j := forecast.Job{Seconds: d.secondsAway(c.pod), Segment: segment, Class: class, Zone: c.zone, Free: c.outside && !c.dead || c.pool.shutdown}
		if c.underway() {
			j.Seconds, j.Underway = d.secondsLeft(c.pod), true
		}
		r.AddCandidate(j)
		c.addNeeds(r, pools, j.Underway)
	}
	for _, p := range d.ledger.away {
		if p.at != unseen && !should[p.at] {
			r.AddAway(forecast.Job{Seconds: d.secondsLeft(p), Class: -1, Zone: p.zone, Free: p.pool.shutdown, Underway: true})
			p.addNeeds(r, pools, true)
		}
	}
	r.Seal()
	return r
}

// addNeeds adds what the pod takes away from its pool and its groups.
func (p *pod) addNeeds(r *forecast.Rollout, pools []int32, underway bool) {
	if pools[p.poolPos] >= 0 {
		r.Need(pools[p.poolPos], 1)
	}
	for h := range p.hosts {
		if (p.mayLive && p.hosts[h].notDown > 0 || underway) && !p.pool.shutdown {
			r.Need(p.hosts[h].group, p.hosts[h].total)
		}
	}
}

// beginsSegment: ranks go one after the other, and a last pod goes alone.
func beginsSegment(before, c *candidate) bool {
	if c.outside && !c.dead || before.broken != c.broken {
		return false
	}
	return before.rank != c.rank || c.last
}

// interchangeable: speed may decide which of the two goes first.
func interchangeable(a, b *candidate) bool {
	return !a.broken && !b.broken && !a.forced && !b.forced && a.rank == b.rank && !a.last && !b.last && a.live == b.live
}

// underway: the pod will go without being chosen again.
func (c *candidate) underway() bool {
	return c.Phase == model.Terminating || c.claim != nil && c.claim.UID == c.UID
}

func (d *decision) secondsAway(p *pod) float64 {
	estimate := p.EstimateSeconds
	if !(estimate > 0 && estimate <= model.MaxSeconds) {
		estimate = model.DefaultEstimateSeconds
	}
	return estimate + d.x.soak.Seconds()
}

// secondsLeft of a pod that is on its way. One that takes longer than
// estimated is taken to be nearly back.
func (d *decision) secondsLeft(p *pod) float64 {
	const nearly = 0.1
	if !p.soakTill.IsZero() {
		return p.soakTill.Sub(d.x.now).Seconds()
	}
	began := p.Since.Time
	if p.claim != nil && !p.claim.StartedAt.IsZero() {
		began = p.claim.StartedAt.Time
	}
	all := d.secondsAway(p)
	if began.IsZero() {
		return all
	}
	return min(max(all-d.x.now.Sub(began).Seconds(), nearly*all), all)
}
