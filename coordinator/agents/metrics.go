package agents

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/coordinator/gauges"
)

// newSkews reports, for each cluster, the largest difference between the clock of an agent's node
// and this process's clock. Clusters without any report have no series.
func newSkews(a *Agents) prometheus.Collector {
	return gauges.New(prometheus.NewDesc("rollcall_agent_clock_skew_seconds",
		"By how much the clock of an agent's node is ahead of the coordinator's (negative: behind), where that is most. Nothing is decided by it.",
		[]string{"cluster"}, nil), func(set func(float64, ...string)) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for key, c := range a.clusters {
			var most time.Duration
			heard := false
			for _, g := range c.agents {
				if skew := -g.behind.Value(); g.heard.sequence > 0 {
					heard = true
					if skew.Abs() > most.Abs() {
						most = skew
					}
				}
			}
			if heard {
				set(most.Seconds(), key.String())
			}
		}
	})
}

// newAges reports the age of the oldest of the newest reports of each cluster whose reports are
// followed. An agent that never reported is as old as the time for which it has been followed.
// Clusters that are gone have no series.
func newAges(a *Agents) prometheus.Collector {
	return gauges.New(prometheus.NewDesc("rollcall_report_age_seconds", "Age of the oldest of the newest reports of a cluster's agents, while its reports are followed.",
		[]string{"cluster"}, nil), func(set func(float64, ...string)) {
		now := time.Now()
		a.mu.Lock()
		defer a.mu.Unlock()
		for key, c := range a.clusters {
			if !c.following.Reports {
				continue
			}
			var oldest time.Duration
			for _, g := range c.agents {
				at := g.since
				if g.received.Report != nil && !g.received.At.IsZero() {
					at = g.received.At
				}
				oldest = max(oldest, now.Sub(at))
			}
			set(oldest.Seconds(), key.String())
		}
	})
}
