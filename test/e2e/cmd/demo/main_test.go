package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const plan = `order  solr-4 solr-3
go     solr-5 Restart after Handoff (Outdated)
hold   - settling: a pod went away 2 s ago, and the database may take 30 s to notice
hold   solr-4 settling: a pod went away 2 s ago, and the database may take 30 s to notice
hold   solr-3 pod-budget: 2 of 6 pods would be away, the limit is 1
`

func TestBriefSaysOnceWhatHoldsEverybody(t *testing.T) {
	require.Equal(t, `order  solr-4 solr-3
go     solr-5 Restart after Handoff (Outdated)
hold   - settling: a pod went away 2 s ago, and the database may take 30 s to notice
hold   solr-3 pod-budget: 2 of 6 pods would be away, the limit is 1
`, brief(plan))
}

func TestDigestKnowsNoSeconds(t *testing.T) {
	later := `order  solr-4 solr-3
go     solr-5 Restart after Handoff (Outdated)
hold   - settling: a pod went away 3 s ago, and the database may take 30 s to notice
hold   solr-3 pod-budget: 2 of 6 pods would be away, the limit is 1
`
	require.Equal(t, digest(plan), digest(later))
	require.NotEqual(t, digest(plan), digest("order  -\n"))
}
