package corpus

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// verdicts compares what was recorded with what is said today.
type verdicts struct {
	*testing.T
	seen  map[string]bool
	wrong []string
}

// compare one recorded answer with that of today, both trees of JSON.
func (v *verdicts) compare(id string, was, is any) {
	v.Helper()
	require.False(v, v.seen[id], "two entries have the ID %s", id)
	v.seen[id] = true
	if fault := judge(differs("", meaning(was, renamed), meaning(is, nil)), id, differences); fault != "" {
		v.wrong = append(v.wrong, id+": "+fault)
	}
}

// judge says what is wrong with an entry that differs somewhere, or, when where is empty, nowhere.
func judge(where, id string, explained map[string]string) string {
	why, listed := explained[id]
	switch {
	case listed && where == "":
		return "is listed as one that differs, and does not"
	case listed && why == "":
		return "differs, and nobody says why that is right: " + where
	case !listed:
		return where
	}
	return ""
}

// shown is how many faults are printed.
const shown = 10

func (v *verdicts) done() {
	v.Helper()
	slices.Sort(v.wrong)
	for _, fault := range v.wrong[:min(shown, len(v.wrong))] {
		v.Error(fault)
	}
	if len(v.wrong) > 0 {
		v.Errorf("%d of %d are not as they were recorded", len(v.wrong), len(v.seen))
	}
}

func TestJudge(t *testing.T) {
	explained := map[string]string{"a": "the budget counts zones now", "b": ""}
	require.Empty(t, judge("", "c", explained))
	require.Empty(t, judge(".phase", "a", explained))
	require.Equal(t, ".phase", judge(".phase", "c", explained))
	require.Contains(t, judge("", "a", explained), "does not")
	require.Contains(t, judge(".phase", "b", explained), "nobody says why")
}
