package kube

import (
	"slices"
	"strings"
)

// SetOf reads the name of a pod's StatefulSet off that of the pod; empty when it has none.
func SetOf(pod string) string { return pod[:max(0, strings.LastIndexByte(pod, '-'))] }

// HasSetOf tells whether the StatefulSet of a pod is one of the pools.
func HasSetOf(pools []Pool, pod string) bool {
	return slices.ContainsFunc(pools, func(p Pool) bool { return p.Name == SetOf(pod) })
}
