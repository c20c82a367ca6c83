package coordinator

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
)

// Whatever one cluster waits for without end, be it the API server or what its pods
// need, the next one goes on: each of the sick hangs in another place, and all hang
// at once. In real time, for a lock that one holds while another wants it would
// stop the virtual one.
func TestHungRequestsOfOneClusterHoldUpNoOther(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	hung := map[string]bool{}
	note := func(where string) {
		mu.Lock()
		defer mu.Unlock()
		hung[where] = true
	}
	var led atomic.Bool // the take-over has been written
	places := map[string]func(kubetest.Call) bool{
		"takeover": func(c kubetest.Call) bool { return c.Verb == "get" && c.Resource == "databaseclusters" },
		"status": func(c kubetest.Call) bool {
			return c.Write() && c.Resource == "databaseclusters/status" && led.Swap(true)
		},
		"removal": func(c kubetest.Call) bool { return c.Verb == "evict" || c.Verb == "delete" },
		"guard":   func(c kubetest.Call) bool { return c.Verb == "patch" && c.Resource == "pods" },
	}
	w.hangs = func(c kubetest.Call) bool {
		for name, here := range places {
			if strings.HasPrefix(c.Name, name) && here(c) {
				note(name)
				return true
			}
		}
		return false
	}
	w.released = make(chan struct{})
	w.provision = func(key Key) error {
		if key.Name == "provision" {
			note(key.Name)
			<-w.released
		}
		return nil
	}
	var well *database
	for _, name := range []string{"guard", "provision", "removal", "status", "takeover", "well"} {
		well = w.add(name, 3)
		well.start = 100 * time.Millisecond
		well.roll("v2")
	}
	p := w.start()
	defer func() {
		close(w.released)
		p.end()
		w.stopAgents()
	}()
	allHang := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(hung) == len(places)+1
	}
	require.Eventually(t, allHang, time.Minute, 10*time.Millisecond, "not all hang")
	well.requireDone(2*time.Minute, "v2")
	for _, pod := range w.gone() {
		require.True(t, strings.HasPrefix(pod, "well-"), pod)
	}
}
