package agents

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// skews reports, at each scrape, which difference between the clock of an agent's node
// and this process's is the largest of each cluster. Clusters whose agents' reports were
// never heard have no series.
type skews struct {
	agents *Agents
	desc   *prometheus.Desc
}

func newSkews(a *Agents) *skews {
	return &skews{agents: a, desc: prometheus.NewDesc("rollcall_agent_clock_skew_seconds",
		"By how much the clock of an agent's node is ahead of the coordinator's (negative: behind), where that is most. Nothing is decided by it.",
		[]string{"cluster"}, nil)}
}

func (m *skews) Describe(ch chan<- *prometheus.Desc) { ch <- m.desc }

func (m *skews) Collect(ch chan<- prometheus.Metric) {
	m.agents.mu.Lock()
	defer m.agents.mu.Unlock()
	for key, c := range m.agents.clusters {
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
			ch <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, most.Seconds(), key.String())
		}
	}
}

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
