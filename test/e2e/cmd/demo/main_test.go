package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const plan = `order  solr-4 solr-3
go     solr-5 Restart after Handoff (Outdated)
hold   - failure-detection: a pod went away 2 s ago, and the database may take 30 s to notice
hold   solr-4 failure-detection: a pod went away 2 s ago, and the database may take 30 s to notice
hold   solr-3 pod-budget: 2 of 6 pods would be unavailable, the limit is 1
`

func TestBriefSaysOnceWhatHoldsEverybody(t *testing.T) {
	require.Equal(t, `order  solr-4 solr-3
go     solr-5 Restart after Handoff (Outdated)
hold   - failure-detection: a pod went away 2 s ago, and the database may take 30 s to notice
hold   solr-3 pod-budget: 2 of 6 pods would be unavailable, the limit is 1
`, brief(plan))
}

func TestDigestKnowsNoSeconds(t *testing.T) {
	later := `order  solr-4 solr-3
go     solr-5 Restart after Handoff (Outdated)
hold   - failure-detection: a pod went away 3 s ago, and the database may take 30 s to notice
hold   solr-3 pod-budget: 2 of 6 pods would be unavailable, the limit is 1
`
	require.Equal(t, digest(brief(plan)), digest(later))
	require.NotEqual(t, digest(plan), digest("order  -\n"))
}

func TestAnotherEngineHasNoDemo(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), "demo", "foundationdb", io.Discard), `no demo of "foundationdb": must be one of mariadb, mysql, opensearch, solr`)
}

func TestJudge(t *testing.T) {
	good := func() rehearsal.Outcome {
		return rehearsal.Outcome{Witness: witness.Report{
			Restarts: []witness.Restart{{Pod: "solr-1"}, {Pod: "solr-0", Elected: true}}, MaxAway: map[string]int{"books/0": 1},
		}}
	}
	require.NoError(t, judge(good(), shows["solr"]))
	for want, spoil := range map[string]func(*rehearsal.Outcome){
		"2 requests failed":                               func(o *rehearsal.Outcome) { o.Load.Failed = 2 },
		"3 acknowledged documents are lost":               func(o *rehearsal.Outcome) { o.Lost = map[string]int{"books": 1, "logs": 2} },
		"the overseer was not last":                       func(o *rehearsal.Outcome) { o.Witness.Restarts[0].Elected = true },
		"more than once":                                  func(o *rehearsal.Outcome) { o.Witness.Restarts[1].Pod = "solr-1" },
		"2 replicas of books/0 were unavailable together": func(o *rehearsal.Outcome) { o.Witness.MaxAway["books/0"] = 2 },
	} {
		out := good()
		spoil(&out)
		require.ErrorContains(t, judge(out, shows["solr"]), want)
	}
}
