package progress

import (
	"maps"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// estimate is the estimated seconds for which a restarted pod is unavailable. It is 0 if nothing
// was measured.
type estimate int64

// with adds another measurement with equal weight.
func (e estimate) with(away time.Duration) estimate {
	seconds := max(1, int64(away.Round(time.Second)/time.Second))
	if e == 0 {
		return estimate(seconds)
	}
	return estimate((int64(e) + seconds + 1) / 2)
}

// Downtime is how long a pod was unavailable that went by a claim and is back.
type Downtime struct {
	Pod    string
	Lasted time.Duration
}

// Estimates are learned from every pod that went by a claim and came back:
// one of the whole cluster, and one of each pool. A value is never changed.
type Estimates struct {
	all   estimate
	pools map[string]estimate
}

// NewEstimates returns the estimates that a predecessor has noted, in seconds.
func NewEstimates(all int64, pools map[string]int64) Estimates {
	e := Estimates{all: estimate(all), pools: map[string]estimate{}}
	for pool, seconds := range pools {
		e.pools[pool] = estimate(seconds)
	}
	return e
}

// Learn returns the estimates after absences of pods of a snapshot.
func (e Estimates) Learn(s model.Snapshot, absences []Downtime) Estimates {
	if len(absences) == 0 {
		return e
	}
	pools := make(map[string]string, len(s.Pods))
	for i := range s.Pods {
		pools[s.Pods[i].Name] = s.Pods[i].Pool
	}
	measured := make(map[string]estimate, len(e.pools)+1)
	maps.Copy(measured, e.pools)
	e.pools = measured
	for _, away := range absences {
		e.all = e.all.with(away.Lasted)
		if pool, known := pools[away.Pod]; known {
			e.pools[pool] = e.pools[pool].with(away.Lasted)
		}
	}
	return e
}

// Seconds returns the estimate of the whole cluster. It is 0 if nothing was measured.
func (e Estimates) Seconds() int64 { return int64(e.all) }

// ByPool returns the estimates of existing pools, or nil if there are none.
func (e Estimates) ByPool(pools []model.Pool) map[string]int64 {
	var out map[string]int64
	for i := range pools {
		if seconds := e.pools[pools[i].Name]; seconds > 0 {
			if out == nil {
				out = make(map[string]int64, len(pools))
			}
			out[pools[i].Name] = int64(seconds)
		}
	}
	return out
}
