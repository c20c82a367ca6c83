package siege

import (
	"testing"
)

// attack is what a stranger or a tenant does to a coordinator that does its work.
type attack struct {
	name string
	do   func(t *testing.T, c *coordinator)
}

// TestSiege: whatever strangers and tenants send, the coordinator lives within its
// memory, answers the API server in time and keeps its lease.
func TestSiege(t *testing.T) {
	w := newWorld(t)
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			c := w.newCoordinator(t)
			j := c.judge(t)
			a.do(t, c)
			j.judged(t)
		})
	}
}

func attacks() []attack {
	all := []attack{{"none", calm}}
	for _, s := range shapes {
		all = append(all, attack{"one review: " + s.name, s.send})
	}
	return append(all,
		attack{"eight reviews of 4 MiB", eightLarge},
		attack{"slow headers at http", slowHeaders("http")},
		attack{"slow headers at webhook", slowHeaders("webhook")},
		attack{"slow headers at page", slowHeaders("page")},
		attack{"slow headers at grpc", slowHeaders("grpc")},
		attack{"slow headers everywhere", slowHeaders("http", "webhook", "page", "grpc")},
		attack{"handshakes", handshakes},
		attack{"tenants' reasons", reasons},
		attack{"tenants' many small fields", smallFields},
		attack{"tenants' status", statuses},
		attack{"made-up tokens", madeUpTokens},
	)
}
