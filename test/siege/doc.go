// Package siege attacks the real coordinator, under the memory limit of the chart
// and beside a real API server, with what a stranger or a tenant can send. Its
// judge believes the process, the control group, the API server's objects and the
// answers, and nothing that the coordinator says about itself.
//
// It runs as root, where ROLLCALL_CLUSTER_PROGRAMS lists the folders of
// kube-apiserver and etcd, as `rollcall-cluster programs` prints them. It skips
// without them, and fails instead where ROLLCALL_REQUIRE names "siege".
package siege
