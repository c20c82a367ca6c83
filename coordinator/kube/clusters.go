package kube

import (
	"k8s.io/client-go/tools/cache"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// clusterHandler calls changed with the key of every DatabaseCluster that was added, changed or
// removed. Our own status writes count as changes: a decision made before one is seen would miss a
// claim.
func clusterHandler(changed func(Key)) cache.ResourceEventHandler {
	call := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if d, ok := object.(*v1alpha1.DatabaseCluster); ok {
			changed(Key{Namespace: d.Namespace, Name: d.Name})
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    call,
		UpdateFunc: func(_, after any) { call(after) },
		DeleteFunc: call,
	}
}
