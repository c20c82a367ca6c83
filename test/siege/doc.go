// Package siege attacks the real coordinator, under the memory limit of the chart and beside a real
// API server, with what a stranger or a tenant can send, and the real agent under the limit that
// injection gives it. Its judge believes the process, the control group, the API server's objects
// and the answers, and nothing that the coordinator says about itself, with one exception: whether
// Prometheus, given the metrics of the attacked program, raises the chart's alert. Time runs faster
// there: the durations of the rules are divided, and nothing else in them is changed.
//
// Without ROLLCALL_SIEGE_ALL there is one attack of each kind, for some seconds. For each,
// test/cmd/mutate/siege.txt removes its defence, and the test notices; except for deeply nested
// answers, which decoders refuse by themselves.
//
// It runs as root, where ROLLCALL_CLUSTER_PROGRAMS lists the folders of kube-apiserver and etcd, as
// `rollcall-cluster programs` prints them. It skips without them, and fails instead where
// ROLLCALL_REQUIRE names "siege".
package siege
