package policy

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// UnavailablePod is a pod that should serve and does not.
type UnavailablePod struct {
	Pod string
	// Why says in which way, and Problem what is wrong if that has a name.
	Why     string
	Problem model.Problem
	// Since is when its phase began, or for how long it has said that it is not live. It is zero if
	// neither explains its absence.
	Since model.Time
}

// UnavailablePods returns the desired pods that do not serve, whatever the cause, in mid-rollout
// and at rest. Pods that are only claimed, outdated or soaking are left out.
func UnavailablePods(s model.Snapshot) []UnavailablePod {
	s.Cluster.Status.Claims = nil
	x := cluster.New(&s, "")
	var list []UnavailablePod
	for i := range x.Pods {
		p := &x.Pods[i]
		if !p.Desired || p.UnavailableReason == "" || p.Serves || !p.SoakTill.IsZero() {
			continue
		}
		a := UnavailablePod{Pod: p.Name, Why: p.UnavailableReason, Problem: p.Problem}
		switch {
		case p.Phase != model.PodPhaseReady:
			a.Since = p.Since
		case p.OwnReport != nil && p.OwnReport.NotLiveSeconds > 0:
			a.Since = model.At(s.Now.Add(-time.Duration(p.OwnReport.NotLiveSeconds * float64(time.Second))))
		}
		list = append(list, a)
	}
	return list
}
