package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// turn takes one step of the pods, or of a controller. It returns false if there is none to take.
func (w *smallWorld) turn() bool {
	s := &w.s
	s.Now = model.At(s.Now.Add(time.Second))
	defer w.elect()
	for i := range s.Pods {
		switch p := &s.Pods[i]; p.Phase {
		case model.PodPhaseTerminating:
			if p.Ordinal >= s.Pools[int(p.Pool[0]-'a')].Replicas {
				s.Pods = slices.Delete(s.Pods, i, i+1)
				return true
			}
			w.turnOne(p)
			p.Phase, p.Report, p.Since, p.Revision, p.UID, p.Node = model.PodPhaseMissing, nil, s.Now, "", "", ""
			return true
		case model.PodPhaseNotStarted:
			w.come(p, p.Revision)
			p.Since, s.Cluster.Status.LastProgress = s.Now, &model.Time{Time: s.Now.Time}
			w.say("%s is %s on %s", p.Name, p.Phase, p.Revision)
			return true
		}
	}
	for i := range s.Pods { // a controller creates missing pods
		p := &s.Pods[i]
		if p.Phase != model.PodPhaseMissing || w.ordered && slices.ContainsFunc(s.Pods, func(o model.Pod) bool {
			return o.Pool == p.Pool && o.Ordinal < p.Ordinal && o.Phase != model.PodPhaseReady
		}) {
			continue
		}
		w.made++
		p.Phase, p.Since, p.UID, p.Revision, p.Agent = model.PodPhaseNotStarted, s.Now, fmt.Sprint(p.Name, " ", w.made), "v2", true
		p.Restart, w.kinds[p.Name] = false, mended(w.kinds[p.Name])
		return true
	}
	return false
}

// turnOne makes another pod unwell while one is unavailable.
func (w *smallWorld) turnOne(gone *model.Pod) {
	for i := range w.s.Pods {
		p := &w.s.Pods[i]
		if w.turns != 0 && !w.turned && p != gone && p.Phase == model.PodPhaseReady && w.kinds[p.Name] == 'o' {
			w.turned, w.kinds[p.Name] = true, w.turns
			w.come(p, p.Revision)
			p.Since = w.s.Now
			w.say("%s turns to %c", p.Name, w.turns)
		}
	}
}

// mended returns the kind of a pod after a restart: H and L keep rank and role.
func mended(kind byte) byte {
	switch kind {
	case 'x':
		return 'x'
	case 'h', 'f', 'p', 'H':
		return 'H'
	case 'l', 'y', 'L':
		return 'L'
	}
	return 'u'
}
