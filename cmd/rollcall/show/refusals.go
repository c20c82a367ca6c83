package show

import (
	"cmp"
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// refusalTable says what was refused lately. It holds up nothing, but somebody may be
// at work who should not be there, or an agent not be heard that should.
func refusalTable(c *rollcallv1.Cluster) *Table {
	t := section("Refused within the last hour ("+Refusals+")", "OF", "WHAT", "TIMES", "SINCE", "LAST", "LAST FROM")
	for _, r := range c.GetRefusals() {
		t.Row(Waiting, cmp.Or(Clean(r.GetPod()), "(coordinator)"), Clean(r.GetWhat()), fmt.Sprint(r.GetCount()),
			status.Age(r.GetSince().AsDuration()), status.Age(r.GetLast().AsDuration()), cmp.Or(Clean(r.GetFrom()), "-"))
	}
	return t
}

// Refusals is where what to do about them is written.
const Refusals = "deploy/docs/runbook.md#what-was-refused"
