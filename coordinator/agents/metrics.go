package agents

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ages reports, at each scrape, the age of the oldest newest report of each
// cluster whose reports are followed. An agent that never reported is as old as
// the time for which it has been followed. Clusters that are gone have no series.
type ages struct {
	agents *Agents
	desc   *prometheus.Desc
}

func newAges(a *Agents) *ages {
	return &ages{agents: a, desc: prometheus.NewDesc("rollcall_report_age_seconds",
		"Age of the oldest of the newest reports of a cluster's agents, while its reports are followed.",
		[]string{"cluster"}, nil)}
}

func (m *ages) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc }

func (m *ages) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	m.agents.mu.Lock()
	defer m.agents.mu.Unlock()
	for key, c := range m.agents.clusters {
		if !c.following.Reports {
			continue
		}
		var oldest time.Duration
		for _, a := range c.agents {
			at := a.since
			if a.received.Report != nil && !a.received.At.IsZero() {
				at = a.received.At
			}
			oldest = max(oldest, now.Sub(at))
		}
		ch <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, oldest.Seconds(), key.String())
	}
}
