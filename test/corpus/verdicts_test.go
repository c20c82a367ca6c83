package corpus

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// verdicts collects the differences between recorded and current answers.
type verdicts struct {
	*testing.T
	seen  map[string]bool
	wrong []string
}

// compare checks one recorded answer against the current one; both are trees.
func (v *verdicts) compare(id string, was, is any) {
	v.Helper()
	require.False(v, v.seen[id], "two entries have the ID %s", id)
	v.seen[id] = true
	if fault := judge(differs("", meaning(was, renamed), meaning(is, nil)), id, differences); fault != "" {
		v.wrong = append(v.wrong, id+": "+fault)
	}
}

// judge returns what is wrong with an entry. where is its first difference, if any.
func judge(where, id string, explained map[string]string) string {
	why, listed := explained[id]
	switch {
	case listed && where == "":
		return "is listed in differences and does not differ"
	case listed && why == "":
		return "is listed in differences without an explanation: " + where
	case !listed:
		return where
	}
	return ""
}

// shown bounds the number of faults that are printed.
const shown = 10

func (v *verdicts) done() {
	v.Helper()
	slices.Sort(v.wrong)
	for _, fault := range v.wrong[:min(shown, len(v.wrong))] {
		v.Error(fault)
	}
	if len(v.wrong) > 0 {
		v.Errorf("%d of %d entries differ from the recording", len(v.wrong), len(v.seen))
	}
}

func TestJudge(t *testing.T) {
	explained := map[string]string{"a": "the budget counts zones now", "b": ""}
	require.Empty(t, judge("", "c", explained))
	require.Empty(t, judge(".phase", "a", explained))
	require.Equal(t, ".phase", judge(".phase", "c", explained))
	require.Contains(t, judge("", "a", explained), "does not differ")
	require.Contains(t, judge(".phase", "b", explained), "without an explanation")
}
