// Package kube has what Kubernetes says: DatabaseClusters, the StatefulSets that belong to them,
// their pods and the nodes these run on, kept current by watches and reduced to the few facts that
// a decision depends on.
//
// It decides nothing and writes nothing.
package kube

import "k8s.io/apimachinery/pkg/types"

// Key names a DatabaseCluster.
type Key = types.NamespacedName

// labelRevision is what the StatefulSet controller writes.
const labelRevision = "controller-revision-hash"
