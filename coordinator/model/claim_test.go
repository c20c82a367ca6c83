package model

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClaimPhasesAreAll that are declared, in their order, and that the schema of the DatabaseCluster allows.
func TestClaimPhasesAreAll(t *testing.T) {
	source, err := os.ReadFile("claim.go")
	require.NoError(t, err)
	var declared, all []string
	for _, m := range regexp.MustCompile(`(?m)^\tPhase\w+ ClaimPhase = "(\w+)"$`).FindAllSubmatch(source, -1) {
		declared = append(declared, string(m[1]))
	}
	for i, phase := range ClaimPhases() {
		all = append(all, string(phase))
		require.Equal(t, i, phase.Order())
	}
	require.Equal(t, declared, all)
	require.Contains(t, string(source), "// +kubebuilder:validation:Enum="+strings.Join(all, ";")+"\ntype ClaimPhase string")
	require.Equal(t, -1, ClaimPhase("").Order())
}
