package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// While the primary restarts nobody tells the topology, and the status goes on showing it.
func TestTopologyStaysShown(t *testing.T) {
	after := func(noted, known model.Topology) model.Topology {
		return shownTopology(noted, status.Decision{Moment: progress.Moment{Snapshot: model.Snapshot{Cluster: model.Cluster{Topology: known}}}})
	}
	require.Equal(t, model.TopologyFixedPrimary, after("", model.TopologyFixedPrimary))
	require.Equal(t, model.TopologyFixedPrimary, after(model.TopologyFixedPrimary, model.TopologyUnknown))
	require.Equal(t, model.TopologySwitchable, after(model.TopologyFixedPrimary, model.TopologySwitchable))
	require.Equal(t, model.TopologyUnknown, after("", model.TopologyUnknown))
	require.Empty(t, after("", ""))
}
