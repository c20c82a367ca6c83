package coordinator

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// estimate of the seconds that a restarted pod is away; 0 = nobody has measured.
type estimate int64

// with takes another measurement in, half and half.
func (e estimate) with(away time.Duration) estimate {
	seconds := max(1, int64(away.Round(time.Second)/time.Second))
	if e == 0 {
		return estimate(seconds)
	}
	return estimate((int64(e) + seconds + 1) / 2)
}

// estimates are learned from every pod that went by a claim and came back:
// one of the whole cluster, and one of each pool.
type estimates struct {
	all   estimate
	pools map[string]estimate
}

func estimatesOf(s v1alpha1.Status) estimates {
	e := estimates{all: estimate(s.EstimateSeconds), pools: map[string]estimate{}}
	for pool, seconds := range s.PoolEstimateSeconds {
		e.pools[pool] = estimate(seconds)
	}
	return e
}

func (e *estimates) learn(s model.Snapshot, absences []act.Absence) {
	pools := make(map[string]string, len(s.Pods))
	if len(absences) > 0 {
		for i := range s.Pods {
			pools[s.Pods[i].Name] = s.Pods[i].Pool
		}
	}
	for _, away := range absences {
		e.all = e.all.with(away.Lasted)
		if pool, known := pools[away.Pod]; known {
			e.pools[pool] = e.pools[pool].with(away.Lasted)
		}
	}
}

// byPool are the estimates of the pools that there are, nil where there is none.
func (e *estimates) byPool(pools []model.Pool) map[string]int64 {
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
