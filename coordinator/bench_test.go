package coordinator

import (
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkReportToEviction rolls a database with 50 agents in real time, and tells two times of each restart, both to the
// pod's removal at the API server:
//   - cycle: since the report that ends the restart before. The release, the next claim, its drain, the look of the pod and of
//     witnesses, the guard, and all that the coordinator waits for of its own accord lie in between.
//   - step: since the last report that the decision needs, that is the last answer to the look of the pod and of witnesses.
//     Opening the guard, where there is one, and the eviction's own way lie in between.
func BenchmarkReportToEviction(b *testing.B) {
	for b.Loop() {
		w := newWorld(b)
		db := w.add("search", 50)
		db.start = 100 * time.Millisecond
		var mu sync.Mutex
		var cycles, steps []time.Duration
		w.server.Removed = func(pod *corev1.Pod) {
			now := time.Now()
			w.mu.Lock()
			var last time.Time // when somebody went live
			for _, m := range db.members {
				if m.settled.After(last) {
					last = m.settled
				}
			}
			restarts, answered := len(w.removals), w.answered
			w.mu.Unlock()
			mu.Lock()
			if restarts > 0 {
				cycles = append(cycles, now.Sub(last))
			}
			steps = append(steps, now.Sub(answered))
			mu.Unlock()
			w.removed(pod)
		}
		p := w.start()
		time.Sleep(5 * time.Second)
		db.roll("v2")
		db.requireDone(20*time.Minute, "v2")
		p.end()
		w.end()
		for what, took := range map[string][]time.Duration{"cycle": cycles, "step": steps} {
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, what+"-ms-median")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, what+"-ms-p99")
		}
		b.ReportMetric(float64(len(steps)), "restarts")
	}
}
