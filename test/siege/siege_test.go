package siege

import (
	"testing"
)

// attack is what a stranger or a tenant does to a coordinator that does its work.
type attack struct {
	name   string
	before func(t *testing.T, w *world) // the coordinator starts; nil: nothing
	do     func(t *testing.T, c *coordinator)
}

// TestSiege: whatever strangers and tenants send, the coordinator lives within its
// memory, answers the API server in time and keeps its lease.
func TestSiege(t *testing.T) {
	w := newWorld(t)
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			if a.before != nil {
				a.before(t, w)
			}
			c := w.newCoordinator(t)
			j := c.judge(t)
			a.do(t, c)
			j.judged(t)
		})
	}
}

func attacks() []attack {
	all := []attack{{"none", nil, calm}}
	for _, s := range shapes {
		all = append(all, attack{"one review: " + s.name, nil, s.send})
	}
	for _, m := range messages {
		all = append(all, attack{"agents of a tenant: " + m.name, nil, impostors(1, 3, m)})
	}
	return append(all,
		attack{"agents of a tenant with many databases", nil, impostors(20, 3, message{"empty entries", 1 << 20, []byte{0x12, 0x00}})},
		attack{"eight reviews of 4 MiB", nil, eightLarge},
		attack{"slow headers at http", nil, slowHeaders("http")},
		attack{"slow headers at webhook", nil, slowHeaders("webhook")},
		attack{"slow headers at page", nil, slowHeaders("page")},
		attack{"slow headers at grpc", nil, slowHeaders("grpc")},
		attack{"slow headers everywhere", nil, slowHeaders("http", "webhook", "page", "grpc")},
		attack{"handshakes", nil, handshakes},
		attack{"tenants' reasons", nil, tenants(reasons)},
		attack{"tenants' many small fields", nil, tenants(smallFields)},
		attack{"tenants' status", nil, tenants(statuses)},
		attack{"a start among tenants' reasons", reasons, calm},
		attack{"a start among tenants' status", statuses, calm},
		attack{"made-up tokens", nil, madeUpTokens},
	)
}

// tenants do something while the coordinator looks on.
func tenants(do func(*testing.T, *world)) func(*testing.T, *coordinator) {
	return func(t *testing.T, c *coordinator) { do(t, c.world) }
}
