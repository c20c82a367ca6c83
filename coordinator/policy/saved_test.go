package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// What is written is read back unchanged, so that a saved snapshot is decided like the live one.
func TestSnapshotsAndPlansSurviveJSON(t *testing.T) {
	for name, s := range goldenSnapshots(t) {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(s)
			require.NoError(t, err)
			again, err := model.Decode(data)
			require.NoError(t, err)
			plan := Decide(s)
			require.Equal(t, plan, Decide(again))

			data, err = json.Marshal(plan)
			require.NoError(t, err)
			read, err := model.DecodePlan(data)
			require.NoError(t, err)
			require.Equal(t, plan, read)
		})
	}
}
