package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhoeverGivesUpACopySaysWhose: validation refuses such overrides, and they
// switch nothing off where they are read, either.
func TestWhoeverGivesUpACopySaysWhose(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		pods []string
		in   bool // in force
	}{
		{Unhealthy, []string{"*"}, true},
		{SoleCopy, []string{"solr-0"}, true},
		{SoleCopy, []string{"*"}, false},
		{QuorumLost, []string{"solr-0", "*"}, false},
		{AcksLost, []string{"*"}, false},
		{OnDeadNode, []string{"*"}, false},
		{OnDeadNode, []string{"solr-0"}, true},
		{BadInput, []string{"solr-0"}, false},
		{Claimed, []string{"solr-0"}, false},
		{OnItsWay, []string{"solr-0"}, false},
	} {
		over := activeOverrides([]Override{{Rule: c.rule, Pods: c.pods, Expires: At(noon.Add(time.Second))}}, noon)
		require.Equal(t, c.in, over.of(c.rule, "solr-0") != nil, "%s of %v", c.rule, c.pods)
	}
	over := activeOverrides([]Override{{Rule: Unhealthy, Pods: []string{"*"}, Expires: At(noon)}}, noon)
	require.Nil(t, over.of(Unhealthy, "solr-0"), "it ends when it expires")
}
