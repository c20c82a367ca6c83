package corpus

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/journal"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// The policy gives every saved snapshot the recorded plan, gives each open claim the
// recorded answers, and explains some of the held pods as recorded.
func TestCorpusIsDecidedAsRecorded(t *testing.T) {
	all := read[decision](t, "decisions.jsonl.gz")
	require.GreaterOrEqual(t, len(all), 600)
	v := &verdicts{T: t, seen: map[string]bool{}}
	for _, d := range all {
		s, err := model.Decode(d.Snapshot)
		require.NoError(t, err, d.ID)
		var was struct {
			Plan      json.RawMessage            `json:"plan"`
			Explained map[string]json.RawMessage `json:"explained"`
		}
		require.NoError(t, json.Unmarshal(d.Answers, &was))
		_, err = model.DecodePlan(was.Plan)
		require.NoError(t, err, d.ID)
		v.compare(d.ID, tree(t, d.Answers), tree(t, answer(s, slices.Collect(maps.Keys(was.Explained)))))
	}
	v.done()
}

// Every saved journal replays, as by rollcall replay, to the recorded plans.
func TestJournalsAreDecidedAsRecorded(t *testing.T) {
	all := read[record](t, "journals.jsonl.gz")
	require.GreaterOrEqual(t, len(all), 20)
	v := &verdicts{T: t, seen: map[string]bool{}}
	for _, r := range all {
		j, err := journal.Decode(r.Journal)
		require.NoError(t, err, r.ID)
		require.NotEmpty(t, j.Entries, r.ID)
		for i, e := range j.Entries {
			plan, _, err := journal.Replay(e)
			require.NoError(t, err, r.ID)
			v.compare(entryID(r.ID, i), tree(t, e.Plan), tree(t, plan))
		}
	}
	v.done()
}

// Every listed difference belongs to an entry.
func TestDifferencesAreOfEntries(t *testing.T) {
	known := map[string]bool{}
	for _, d := range read[decision](t, "decisions.jsonl.gz") {
		known[d.ID] = true
	}
	for _, r := range read[record](t, "journals.jsonl.gz") {
		j, err := journal.Decode(r.Journal)
		require.NoError(t, err)
		for i := range j.Entries {
			known[entryID(r.ID, i)] = true
		}
	}
	for id := range differences {
		require.True(t, known[id], "%s is no entry", id)
	}
}
