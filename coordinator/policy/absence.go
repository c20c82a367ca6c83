package policy

// Absence is a pod that should serve and does not.
type Absence struct {
	Pod string
	// Why says in which way, and Problem what is wrong, where that has a name.
	Why     string
	Problem Problem
	// Since is when its phase began; zero where that says nothing of its absence.
	Since Time
}

// Absences are the desired pods that do not serve, whoever caused it, in mid-rollout
// and at rest. To be claimed, to be out of date, or to soak is no absence.
func Absences(s Snapshot) []Absence {
	s.Cluster.Status.Claims = nil
	x := newIndex(&s, "")
	var list []Absence
	for i := range x.pods {
		p := &x.pods[i]
		if !p.desired || p.awayWhy == "" || p.serves || !p.soakTill.IsZero() {
			continue
		}
		a := Absence{Pod: p.Name, Why: p.awayWhy, Problem: p.Problem}
		if p.Phase != Ready {
			a.Since = p.Since
		}
		list = append(list, a)
	}
	return list
}
