package show

import (
	"cmp"
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// refusalTable shows recent refusals. They hold nothing, but may show an attack, or an agent that
// is wrongly refused.
func refusalTable(c *rollcallv1.Cluster) *Table {
	t := section("Refused within the last hour ("+Refusals+")", "OF", "WHAT", "TIMES", "SINCE", "LAST", "LAST FROM")
	for _, r := range c.GetRefusals() {
		t.Row(Waiting, cmp.Or(Clean(r.GetPod()), "(coordinator)"), Clean(r.GetWhat()), fmt.Sprint(r.GetCount()),
			status.Age(r.GetSince().AsDuration()), status.Age(r.GetLast().AsDuration()), cmp.Or(Clean(r.GetFrom()), "-"))
	}
	return t
}

// Refusals is the document that says what to do about them.
const Refusals = "deploy/docs/runbook.md#what-was-refused"
