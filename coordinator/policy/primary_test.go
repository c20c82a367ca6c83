package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePrimaryIsAnnounced checks that a primary that restarts in place is announced as long as it
// waits, and not where it hands over.
func TestThePrimaryIsAnnounced(t *testing.T) {
	const words = "restarts in place: nobody writes until it is back, in about 25 s"
	for _, file := range []string{"fixed_primary_last", "fixed_primary_approved"} {
		s := readScript(t, "testdata/"+file+".txt").snapshot
		pod, note := RestartsInPlace(s)
		require.Equal(t, "pri-0", pod)
		require.Equal(t, words, note)
		held := false
		for _, h := range Explain(s, "pri-0") {
			held = held || strings.HasSuffix(h.Reason, "; then it "+words)
		}
		require.True(t, held, file)
	}
	for _, file := range []string{"rule_primary_passes", "galera_has_no_primary", "switchable_told_to_stay"} {
		pod, _ := RestartsInPlace(readScript(t, "testdata/"+file+".txt").snapshot)
		require.Empty(t, pod, file)
	}
}
