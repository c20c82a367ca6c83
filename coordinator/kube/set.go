package kube

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// HasSetOf reports whether the StatefulSet of a pod is one of the pools.
func HasSetOf(pools []Pool, pod string) bool {
	return slices.ContainsFunc(pools, func(p Pool) bool { return p.Name == model.SetOf(pod) })
}
