// Package dashboard draws the chart's Grafana dashboard from a recording of a real
// rollout, without Grafana, so that it can be looked at and tested where there is none.
//
// Prometheus itself (its parser, its storage, its query engine) answers the panels' own
// queries. What is drawn is like Grafana's in what matters to the dashboard's author:
// places and sizes, queries, legends, units, thresholds, mappings, transformations. It
// is a picture by this package all the same, and says so; what the package does not
// know of a panel is an error, so that nothing is left out in silence.
//
// It is a module of its own because Prometheus would be a dependency of the programs'.
package dashboard
