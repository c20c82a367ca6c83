package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every bug in the list still fits the sources, which compile with all of them.
func TestBugsApply(t *testing.T) {
	t.Chdir("../../..")
	changes, err := parse(list)
	require.NoError(t, err)
	require.Greater(t, len(changes), 20)
	_, err = build(changes, t.TempDir())
	require.NoError(t, err)
}

func TestBugsThatDoNotFit(t *testing.T) {
	for name, text := range map[string]string{
		"no head":       "-	a\n+	PLANTED\n",
		"no invariant":  "# a: b\n-	a\n+	PLANTED\n",
		"another sign":  "# a: b: I1\n*	a\n",
		"not in a file": "# a: sources.go: I1\n-	nothing like this\n+	PLANTED\n",
		"not switched":  "# a: sources.go: I1\n-package main\n+package main // changed\n",
		"no such file":  "# a: none.go: I1\n-	a\n+	PLANTED\n",
	} {
		changes, err := parse(text)
		if err == nil {
			_, err = overlay(changes, t.TempDir())
		}
		require.Error(t, err, name)
	}
}
