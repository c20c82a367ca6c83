package progress

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Absent is a pod that does not serve, and since when; zero = not known.
type Absent struct {
	policy.Absence
	Since time.Time
}

// AbsentPods are the pods that should serve and do not, in mid-rollout and at rest.
func AbsentPods(m *Moment) []Absent {
	if m.Pods.Away == 0 {
		return nil
	}
	absences := policy.Absences(m.Snapshot)
	list := make([]Absent, 0, len(absences))
	for _, a := range absences {
		since := a.Since.Time
		if at, known := m.AwaySince[a.Pod]; known {
			since = at
		}
		list = append(list, Absent{a, since})
	}
	return list
}

// OverduePods are those that have not served for longer than policy.startSeconds,
// whatever the cause: nothing that begins with a pod takes as long.
func OverduePods(m *Moment) []Absent {
	start := time.Duration(m.Snapshot.Cluster.Spec.WithDefaults().Policy.StartSeconds) * time.Second
	return slices.DeleteFunc(AbsentPods(m), func(a Absent) bool {
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
