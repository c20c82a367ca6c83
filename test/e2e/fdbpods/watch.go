package fdbpods

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// Seen is what Kubernetes showed of the pods.
type Seen struct {
	// Goings are the pods that were asked to end, in their order; Zones those of each.
	Goings, Zones []string
	// Most is how many zones had a pod away together, Together the pods of that moment.
	Most     int
	Together string
}

// Times is how often each pod went.
func (s Seen) Times() map[string]int {
	times := map[string]int{}
	for _, pod := range s.Goings {
		times[pod]++
	}
	return times
}

// Runs are the zones in the order in which their pods went, each once for as long as no pod of another went between.
func (s Seen) Runs() []string { return slices.Compact(slices.Clone(s.Zones)) }

func (s Seen) String() string {
	return fmt.Sprintf("%d pods went (%s), zones in turns %v; pods of %d zones away together (%s)", len(s.Goings), strings.Join(s.Goings, ", "), s.Runs(), s.Most, s.Together)
}

// Watch looks at the pods ten times a second.
type Watch struct {
	stop context.CancelFunc
	done sync.WaitGroup
	mu   sync.Mutex
	seen Seen
}

// StartWatch begins to look. All pods must be there.
func (c *Cluster) StartWatch(ctx context.Context) *Watch {
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{stop: stop}
	zones, gone := map[string]string{}, map[types.UID]bool{}
	for _, p := range c.Pods.All() {
		zones[p.Name] = p.Labels[Zone]
	}
	w.done.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.look(c.Pods.All(), zones, gone)
			}
		}
	})
	return w
}

func (w *Watch) look(pods []*corev1.Pod, zones map[string]string, gone map[types.UID]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	there := map[string]bool{}
	for _, p := range pods {
		there[p.Name] = testbed.Ready(p) && p.DeletionTimestamp == nil
		if p.DeletionTimestamp != nil && !gone[p.UID] {
			gone[p.UID] = true
			w.seen.Goings, w.seen.Zones = append(w.seen.Goings, p.Name), append(w.seen.Zones, p.Labels[Zone])
		}
	}
	away := map[string][]string{}
	for pod, zone := range zones {
		if !there[pod] {
			away[zone] = append(away[zone], pod)
		}
	}
	if len(away) > w.seen.Most {
		w.seen.Most, w.seen.Together = len(away), fmt.Sprint(time.Now().Format("15:04:05 "), away)
	}
}

// Stop ends it.
func (w *Watch) Stop() Seen {
	w.stop()
	w.done.Wait()
	return w.seen
}
