package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrimaryByTopology checks what a primary does if the spec does not say it.
func TestPrimaryByTopology(t *testing.T) {
	for topology, want := range map[Topology]Primary{
		"": "", TopologyUnknown: "", TopologyGalera: "",
		TopologySwitchable: PrimarySwitchover, TopologyGroupReplication: PrimarySwitchover,
		TopologyFixedPrimary: PrimaryRestartInPlace, TopologySingleServer: PrimaryRestartInPlace,
	} {
		c := Cluster{Topology: topology}
		require.Equal(t, want, c.SpecWithDefaults().Update.Primary, topology)
		c.Spec.Update.Primary = PrimaryHold
		require.Equal(t, PrimaryHold, c.SpecWithDefaults().Update.Primary, topology)
	}
}
