package race

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPart(t *testing.T) {
	tried := 0
	for n := range 12 {
		if Part(n, 4) {
			tried++
		}
	}
	require.Equal(t, map[bool]int{true: 3, false: 12}[Enabled], tried)
}

func TestHeavy(t *testing.T) {
	ran := false
	t.Run("heavy", func(t *testing.T) {
		Heavy(t)
		ran = true
	})
	require.NotEqual(t, Enabled, ran)
}
