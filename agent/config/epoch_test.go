package config

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeardEpoch(t *testing.T) {
	for heard, want := range map[int64]int64{
		0: 0, 1: 1, MaxHeardEpoch: MaxHeardEpoch, MaxHeardEpoch + 1: 0, math.MaxInt64: 0, -1: 0, math.MinInt64: 0,
	} {
		require.Equal(t, want, HeardEpoch(heard), heard)
	}
}
