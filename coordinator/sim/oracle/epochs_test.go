package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEpochs(t *testing.T) {
	for name, c := range map[string]struct {
		story  func(s *scene)
		broken []string
	}{
		"one after the other": {story: func(s *scene) { s.o.Epoch("c2", 2) }},
		"the same again":      {story: func(s *scene) { s.o.Epoch("c1", 1) }},
		"none yet":            {story: func(s *scene) { s.o.Epoch("c2", 0); s.o.Epoch("c3", 0) }},
		"two in one":          {story: func(s *scene) { s.o.Epoch("c2", 1) }, broken: []string{"I4"}},
	} {
		require.Equal(t, c.broken, play(t, Limits{}, nil, c.story), name)
	}
}
