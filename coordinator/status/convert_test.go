package status

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// Nothing that a plan says is lost on the wire: every string of its JSON form
// is in the message too.
func TestPlanIsWholeOnTheWire(t *testing.T) {
	partition := int32(7)
	plan := model.Plan{
		Version: 1, Cluster: "prod/search", Phase: model.ClusterRolling,
		Budget: model.Budget{Pods: model.PodBudget{Limit: 101, Away: 102, Claimed: 103, Room: 104}, Zones: model.ZoneBudget{Limit: 105, Away: 106}},
		Order:  []string{"order-0", "order-1"},
		Steps: []model.Step{{
			Pod: "step-pod", UID: "step-uid", Unit: "step-unit", Action: model.ActionLowerPartition, Prepare: model.PrepareEvacuate, Reason: model.ReasonNodeDrain,
			OutsideBudget: true, BeforeTurn: true, Partition: &partition, Notes: []string{"note-0"},
		}},
		Holds:             []model.Hold{{Pod: "hold-pod", Rule: model.RuleSoleCopy, Group: "hold-group", Reason: "hold-reason", Unblocks: "hold-unblocks"}},
		RetryAfterSeconds: 107,
		Forecast:          model.Forecast{Waves: 108, Seconds: 109, BoundSeconds: 110},
	}
	message, err := protojson.Marshal(planProto(plan))
	require.NoError(t, err)
	data, err := json.Marshal(plan)
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, json.Unmarshal(data, &tree))
	delete(tree, "version") // of the JSON format
	delete(tree, "cluster") // stands beside the plan
	var leaves func(any)
	leaves = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, child := range v {
				if yes, is := child.(bool); is { // one says no more than that there is one
					require.Regexp(t, fmt.Sprintf(`"%s":\s*%t`, name, yes), string(message))
				}
				leaves(child)
			}
		case []any:
			for _, child := range v {
				leaves(child)
			}
		default:
			leaf, err := json.Marshal(v)
			require.NoError(t, err)
			require.Contains(t, string(message), strings.Trim(string(leaf), `"`))
		}
	}
	leaves(tree)
}

func TestTimesThatAreNotKnown(t *testing.T) {
	require.Nil(t, stamp(time.Time{}))
	c := ClusterProto(Decision{Moment: progress.Moment{Snapshot: model.Snapshot{Pods: []model.Pod{{Name: "search-0"}}}}})
	require.Nil(t, c.GetDecidedAt())
	require.EqualValues(t, -1, c.GetPodStates()[0].GetReportAgeSeconds())
	require.Empty(t, c.GetPodStates()[0].GetMember())
}
