package progress

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Unavailable is a pod that does not serve, and since when; zero = not known.
type Unavailable struct {
	policy.UnavailablePod
	Since time.Time
}

// UnavailablePods returns the pods that should serve and do not, in mid-rollout and at rest.
func UnavailablePods(m *Moment) []Unavailable {
	if m.Pods.Away == 0 {
		return nil
	}
	absences := policy.UnavailablePods(m.Snapshot)
	list := make([]Unavailable, 0, len(absences))
	for _, a := range absences {
		since := a.Since.Time
		if at, known := m.UnavailableSince[a.Pod]; known {
			since = at
		}
		list = append(list, Unavailable{a, since})
	}
	return list
}

// OverduePods returns the pods that have not served for longer than policy.startSeconds, whatever
// the cause: no start takes that long.
func OverduePods(m *Moment) []Unavailable {
	start := time.Duration(m.Snapshot.Cluster.Spec.WithDefaults().Policy.StartSeconds) * time.Second
	return slices.DeleteFunc(UnavailablePods(m), func(a Unavailable) bool {
		return a.Since.IsZero() || m.DecidedAt.Sub(a.Since) <= start
	})
}

// CountOverdue leaves out the pods that are counted as failed.
func CountOverdue(m *Moment) (n int) {
	for _, a := range OverduePods(m) {
		if pod, known := m.Pod(a.Pod); !known || !Failed(pod) {
			n++
		}
	}
	return n
}
