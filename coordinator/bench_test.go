package coordinator

import (
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkReportToEviction rolls a database with 50 agents in real time. What it tells is how long after the report that
// makes the next restart possible that pod's eviction is asked for: the release, the next claim, its prepare, the look of the
// pod and of witnesses, the guard, and all that the coordinator waits for of its own accord lie in between.
func BenchmarkReportToEviction(b *testing.B) {
	for b.Loop() {
		w := newWorld(b)
		db := w.add("search", 50)
		db.start = 100 * time.Millisecond
		var mu sync.Mutex
		var took []time.Duration
		w.server.Removed = func(pod *corev1.Pod) {
			now := time.Now()
			w.mu.Lock()
			var last time.Time // when somebody went live
			for _, m := range db.members {
				if m.settled.After(last) {
					last = m.settled
				}
			}
			restarts := len(w.removals)
			w.mu.Unlock()
			if restarts > 0 {
				mu.Lock()
				took = append(took, now.Sub(last))
				mu.Unlock()
			}
			w.removed(pod)
		}
		p := w.start()
		time.Sleep(5 * time.Second)
		db.roll("v2")
		db.requireDone(20*time.Minute, "v2")
		p.end()
		w.end()
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-median")
		b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "ms-p99")
		b.ReportMetric(float64(len(took)), "restarts")
	}
}
