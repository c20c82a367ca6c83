// Package counters has counters whose series are all there from the start: alerts compare with 0.
package counters

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// New registers a counter, unless registerer is nil, with a series for each combination of the
// labels' values.
func New[S ~string](registerer prometheus.Registerer, opts prometheus.CounterOpts, labels []string, values ...[]S) *prometheus.CounterVec {
	c := promauto.With(registerer).NewCounterVec(opts, labels)
	preset(c, nil, values)
	return c
}

func preset[S ~string](c *prometheus.CounterVec, begun []string, rest [][]S) {
	if len(rest) == 0 {
		c.WithLabelValues(begun...)
		return
	}
	for _, value := range rest[0] {
		preset(c, append(slices.Clone(begun), string(value)), rest[1:])
	}
}
