package run

import (
	"time"
)

// some are pods: one, several next to each other, or all.
func (w *world) some(f Fault) []string {
	all := w.pods()
	n := 1
	switch f.Pick % 4 {
	case 0:
		n = len(all)
	case 1:
		n = min(2+int(f.Pick/4%2), len(all))
	}
	var names []string
	for i := range n {
		names = append(names, all[(int(f.Pick/16%uint64(len(all)))+i)%len(all)].Name)
	}
	return names
}

// session has members lose their place in the register while they run: an ensemble that elects or
// restarts, a manager that is unavailable. All come back one by one.
func session(w *world, f Fault) func() {
	return w.loseSessions(w.some(f), f.Pick)
}

func (w *world) loseSessions(pods []string, pick uint64) func() {
	for _, pod := range pods {
		w.db.LoseSession(pod)
	}
	return func() {
		for i, pod := range pods {
			w.loop.In(time.Duration(uint64(i)*(pick>>8%700))*time.Millisecond, func() { w.db.Rejoin(pod) })
		}
	}
}

// pauses has processes stop for a while, with their agents or without.
func pauses(w *world, f Fault) func() {
	pods := w.some(f)
	if len(pods) == w.scenario.Replicas {
		pods = pods[:1+len(pods)/2]
	}
	var ends []func()
	for _, pod := range pods {
		if r := w.run(pod); r != nil {
			ends = append(ends, w.kubelets.Pause(r, f.Pick>>8%3 == 0, f.Pick>>12%2 == 0))
		}
	}
	return func() {
		for _, end := range ends {
			if end != nil {
				end()
			}
		}
	}
}
