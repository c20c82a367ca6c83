package policy

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
	"github.com/rollcall-dev/rollcall/coordinator/policy/forecast"
)

// forecast simulates the rollout from here as if everything else were healthy: each candidate goes
// as soon as the budgets allow, in the sequence in which they are asked about, takes as long as
// estimated and soaks.
func (d *decision) forecast() model.Forecast {
	if len(d.order) == 0 && d.ledger.Claimed == 0 {
		return model.Forecast{}
	}
	return d.rollout().Forecast(d.sequence, d.simulatedSeconds)
}

// rollout is created when it is first needed.
func (d *decision) rollout() *forecast.Rollout {
	if d.simulated == nil {
		d.simulated = rolloutOf(d)
	}
	return d.simulated
}

// rolloutOf makes jobs of the candidates and of the unavailable pods. Its resources are the groups,
// in the order of the index, and the OrderedReady pools.
func rolloutOf(d *decision) *forecast.Rollout {
	x := d.x
	limits := forecast.Limits{Jobs: d.ledger.Limit, Zones: d.ledger.ZoneLimit, Resources: make([]int32, len(x.Groups), len(x.Groups)+len(x.Pools))}
	for i := range x.Groups {
		limits.Resources[i] = x.Groups[i].Limit
		if x.Groups[i].Domains != nil {
			limits.Resources[i] = forecast.NoLimit // a share would not say with whom it is missing
		}
	}
	pools := make([]int32, len(x.Pools)) // the resource of each pool that is OrderedReady, else -1
	for i := range x.Pools {
		pools[i] = -1
		if x.Pools[i].Management == model.ManagementOrderedReady {
			pools[i] = int32(len(limits.Resources))
			limits.Resources = append(limits.Resources, 1)
		}
	}
	jobs := len(d.order) + len(d.ledger.Unavailable)
	r := forecast.New(limits, jobs, len(x.Hosted)+jobs)
	should := make([]bool, len(x.Pods))
	var segment, class int32
	for i := range d.order {
		c := &d.order[i]
		should[c.At] = true
		if i > 0 {
			segment += int32(cluster.Count(beginsSegment(&d.order[i-1], c)))
			class += int32(cluster.Count(!interchangeable(&d.order[i-1], c)))
		}
		j := forecast.Job{Seconds: d.secondsUnavailable(c.Pod), Segment: segment, Class: class, Zone: c.OwnZone, Free: c.outside && !c.dead || c.OwnPool.Shutdown}
		if c.underway() {
			j.Seconds, j.Underway = d.secondsLeft(c.Pod), true
		}
		r.AddCandidate(j)
		addNeeds(c.Pod, r, pools, j.Underway)
	}
	for _, p := range d.ledger.Unavailable {
		if p.At != cluster.Unseen && !should[p.At] {
			r.AddAway(forecast.Job{Seconds: d.secondsLeft(p), Class: -1, Zone: p.OwnZone, Free: p.OwnPool.Shutdown, Underway: true})
			addNeeds(p, r, pools, true)
		}
	}
	r.Seal()
	return r
}

// addNeeds adds what the pod takes from its pool and its groups.
func addNeeds(p *cluster.Pod, r *forecast.Rollout, pools []int32, underway bool) {
	if pools[p.PoolPos] >= 0 {
		r.Need(pools[p.PoolPos], 1)
	}
	for h := range p.Hosts {
		if (p.MayLive && p.Hosts[h].NotDown > 0 || underway) && !p.OwnPool.Shutdown {
			r.Need(p.Hosts[h].Group, p.Hosts[h].Total)
		}
	}
}

// beginsSegment reports whether ranks go one after the other, and a last pod goes alone.
func beginsSegment(before, c *candidate) bool {
	if c.outside && !c.dead || before.broken != c.broken {
		return false
	}
	return before.Rank != c.Rank || c.Last
}

// interchangeable reports whether speed may decide which of the two goes first.
func interchangeable(a, b *candidate) bool {
	return !a.broken && !b.broken && !a.forced && !b.forced && a.Rank == b.Rank && !a.Last && !b.Last && a.Live == b.Live
}

// underway reports whether the pod will go without being chosen again.
func (c *candidate) underway() bool {
	return c.Phase == model.PodPhaseTerminating || c.Claim != nil && c.Claim.UID == c.UID
}

func (d *decision) secondsUnavailable(p *cluster.Pod) float64 {
	return estimateOf(p) + d.x.Soak.Seconds()
}

// estimateOf returns for how many seconds the pod is expected to be unavailable.
func estimateOf(p *cluster.Pod) float64 {
	if e := p.EstimateSeconds; e > 0 && e <= model.MaxSeconds {
		return e
	}
	return model.DefaultEstimateSeconds
}

// secondsLeft returns the remaining time of a pod that is going. One that takes longer than
// estimated is taken to be nearly back.
func (d *decision) secondsLeft(p *cluster.Pod) float64 {
	const nearly = 0.1
	if !p.SoakTill.IsZero() {
		return p.SoakTill.Sub(d.x.Now).Seconds()
	}
	began := p.Since.Time
	if p.Claim != nil && !p.Claim.StartedAt.IsZero() {
		began = p.Claim.StartedAt.Time
	}
	all := d.secondsUnavailable(p)
	if began.IsZero() {
		return all
	}
	return min(max(all-d.x.Now.Sub(began).Seconds(), nearly*all), all)
}
