package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"
import "time"

// Absence is a pod that should serve and does not.
type Absence struct {
	Pod string
	// Why says in which way, and Problem what is wrong, where that has a name.
	Why     string
	Problem model.Problem
	// Since is when its phase began, or for how long it says that it is not live; zero
	// where neither tells of its absence.
	Since model.Time
}

// Absences are the desired pods that do not serve, whoever caused it, in mid-rollout
// and at rest. To be claimed, to be out of date, or to soak is no absence.
func Absences(s model.Snapshot) []Absence {
	s.Cluster.Status.Claims = nil
	x := newIndex(&s, "")
	var list []Absence
	for i := range x.pods {
		p := &x.pods[i]
		if !p.desired || p.awayWhy == "" || p.serves || !p.soakTill.IsZero() {
			continue
		}
		a := Absence{Pod: p.Name, Why: p.awayWhy, Problem: p.Problem}
		switch {
		case p.Phase != model.Ready:
			a.Since = p.Since
		case p.report != nil && p.report.NotLiveSeconds > 0:
			a.Since = model.At(s.Now.Add(-time.Duration(p.report.NotLiveSeconds * float64(time.Second))))
		}
		list = append(list, a)
	}
	return list
}
