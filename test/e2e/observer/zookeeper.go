package observer

import (
	"context"
	"strings"
	"sync"
)

// ZooKeeper as the observer asks it: every server, which part it plays.
type ZooKeeper struct {
	// Pods returns the addresses of the servers' client ports, by name.
	Pods func() map[string]string
}

// ensemble is what all servers hold a copy of.
const ensemble = "ensemble"

// Read asks each server by srvr, which only one in a quorum answers with its mode.
func (z ZooKeeper) Read(ctx context.Context) (Copies, error) {
	modes := z.Modes(ctx)
	out := Copies{}
	for pod, mode := range modes {
		why := ""
		if mode != "leader" && mode != "follower" {
			why = "it is in no quorum: " + mode
		}
		out.note(ensemble, pod, why)
	}
	return out, nil
}

// Modes returns what each server says that it is: leader, follower, observer, or why it is none of them.
func (z ZooKeeper) Modes(ctx context.Context) map[string]string {
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[string]string{}
	for pod, address := range z.Pods() {
		wg.Go(func() {
			text, err := fourLetters(ctx, address, "srvr")
			mode := modeOf(text)
			if err != nil {
				mode = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			out[pod] = mode
		})
	}
	wg.Wait()
	return out
}

func modeOf(srvr string) string {
	for line := range strings.Lines(srvr) {
		if mode, is := strings.CutPrefix(line, "Mode: "); is {
			return strings.TrimSpace(mode)
		}
	}
	return strings.TrimSpace(srvr)
}
