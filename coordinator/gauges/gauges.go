// Package gauges has metrics whose series are made at each scrape, so that nothing is kept of them.
package gauges

import "github.com/prometheus/client_golang/prometheus"

// New is a gauge with the series that each sets when it is asked.
func New(desc *prometheus.Desc, each func(set func(value float64, labels ...string))) prometheus.Collector {
	return &gauge{desc, each}
}

type gauge struct {
	desc *prometheus.Desc
	each func(set func(value float64, labels ...string))
}

// Describe implements prometheus.Collector.
func (g *gauge) Describe(descs chan<- *prometheus.Desc) { descs <- g.desc }

// Collect implements prometheus.Collector.
func (g *gauge) Collect(metrics chan<- prometheus.Metric) {
	g.each(func(value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
	})
}
