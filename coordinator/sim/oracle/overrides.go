package oracle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// unranked notes until when a person has switched off for which pods that ranks go one after the other.
func (o *Oracle) unranked(overrides []model.Override) {
	at := o.loop.Now()
	for pod, until := range o.freed {
		o.freed[pod] = min(until, at) // unless it is said again
	}
	for _, over := range overrides {
		if over.Rule != model.RuleRankOrder {
			continue
		}
		for _, pod := range over.Pods {
			o.freed[pod] = at + time.Until(over.Expires.Time)
		}
	}
}

// isUnranked reports whether a person has switched that off for the pod, or had until a moment ago.
func (o *Oracle) isUnranked(pod *corev1.Pod) bool {
	return slices.ContainsFunc([]string{pod.Name, "*"}, func(name string) bool {
		until, is := o.freed[name]
		return is && o.loop.Now()-until <= told
	})
}
