//go:build tools

// Package kube pins the Kubernetes release that the local cluster runs.
// Nothing here is compiled into Rollcall: the imports only keep the commands, and everything that they need, in
// go.mod and go.sum, so that every build uses the same sources.
package kube

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
