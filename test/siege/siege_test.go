package siege

import (
	"os"
	"testing"
	"time"
)

// attack is what a stranger or a tenant does to a coordinator that does its work.
type attack struct {
	name   string
	before func(t *testing.T, w *world) // the coordinator starts; nil means nothing
	do     func(t *testing.T, c *coordinator)
	// alert is the one of the chart that says it; empty means none does, as nothing is refused;
	// whatever: none is about it, and one may be raised by what the machine has no time for.
	alert string
	short bool // it is part of the short siege
}

const whatever = "whatever"

// whole: each attack, and for as long as it takes to be sure. The short siege has one of
// each kind, of some seconds: each of them kills a coordinator without its defence, or
// raises no alert.
var whole = os.Getenv("ROLLCALL_SIEGE_ALL") != ""

// lasts is how long attacks last that have no end of their own.
func lasts() time.Duration {
	if whole {
		return 20 * time.Second
	}
	return 10 * time.Second
}

// TestSiege checks that whatever strangers and tenants send, the coordinator lives within its
// memory, answers the API server in time, keeps its lease, lets pods of another database go, and
// Prometheus raises the alert that says so.
func TestSiege(t *testing.T) {
	w := newWorld(t)
	var c *coordinator
	for _, a := range attacks() {
		if !whole && !a.short {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			// The short siege has one coordinator for all, as long as it lives.
			if whole || a.before != nil || c == nil || !c.alive() {
				if c != nil {
					c.stop(t)
				}
				if a.before != nil {
					a.before(t, w)
				}
				c = w.newCoordinator(t)
			} else {
				c.group.restart()
			}
			j := c.judge(t)
			a.do(t, c)
			j.judged(t, a.alert)
		})
	}
}

func attacks() []attack {
	const webhook, connections, refused = "RollcallWebhookOverloaded", "RollcallConnectionsExhausted", "RollcallAgentRefused"
	all := []attack{{"none", nil, calm, "", true}}
	for _, s := range shapes {
		all = append(all, attack{"one review: " + s.name, nil, s.send, webhook, s.name == "empty containers"})
	}
	for _, m := range messages {
		all = append(all, attack{"agents of a tenant: " + m.name, nil, impostors(1, 3, m), refused, m.name == "empty entries"})
	}
	return append(all,
		attack{"agents of a tenant with many databases", nil, impostors(20, 3, message{"empty entries", 1 << 20, []byte{0x12, 0x00}, often}), refused, false},
		attack{"agents of a tenant: 3.6 million messages", nil, flood, "RollcallAgentMessagesThrottled", true},
		attack{"eight reviews of 4 MiB", nil, eightLarge, webhook, true},
		attack{"slow headers at http", nil, slowHeaders("http"), connections, false},
		attack{"slow headers at webhook", nil, slowHeaders("webhook"), connections, false},
		attack{"slow headers at page", nil, slowHeaders("page"), connections, false},
		attack{"slow headers at grpc", nil, slowHeaders("grpc"), connections, false},
		attack{"slow headers everywhere", nil, slowHeaders("http", "webhook", "page", "grpc"), connections, true},
		attack{"handshakes", nil, handshakes, connections, true},
		attack{"made-up tokens", nil, madeUpTokens, "RollcallTokenReviewsThrottled", true},
		attack{"tenants' reasons", nil, tenants(reasons), whatever, false},
		attack{"tenants' many small fields", nil, tenants(smallFields), whatever, false},
		attack{"tenants' status", nil, tenants(statuses), whatever, false},
		attack{"tenants' reasons of 900 KB", nil, tenants(longReasons), whatever, true},
		attack{"tenants' StatefulSets with long selectors", nil, tenants(longSelectors), whatever, false},
		attack{"tenants' large StatefulSets", nil, tenants(largeSets), whatever, false},
		attack{"tenants' thousands of StatefulSets", nil, tenants(thousandsOfSets), whatever, false},
		attack{"tenants' budgets", nil, tenants(budgets), whatever, false},
		attack{"tenants' metadata", nil, tenants(metadataOfClusters), whatever, false},
		attack{"a start among StatefulSets with long selectors", longSelectors, calm, whatever, false},
		attack{"a start among thousands of StatefulSets", thousandsOfSets, calm, whatever, false},
		attack{"a start among tenants' budgets", budgets, calm, whatever, false},
		attack{"a start among tenants' reasons", reasons, calm, whatever, false},
		attack{"a start among tenants' status", statuses, calm, whatever, false},
		attack{"a start among reasons of 900 KB that were stored before there were bounds", storedReasons, calm, whatever, true},
	)
}

// tenants do something while the coordinator looks on.
func tenants(do func(*testing.T, *world)) func(*testing.T, *coordinator) {
	return func(t *testing.T, c *coordinator) { do(t, c.world) }
}
