package status

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAgeless(t *testing.T) {
	for text, want := range map[string]string{
		"s-2 does not answer, for 1m15s; limit 1": "s-2 does not answer, for ?; limit 1",
		"its report is 75 s old, for 2d3h":        "its report is ? old, for ?",
		"120s and 5ms":                            "? and ?",
		"2 of 3 members, s3 and 10m2":             "2 of 3 members, s3 and 10m2",
	} {
		require.Equal(t, want, Ageless(text))
	}
}
