package recordings

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// difference is one that may be.
type difference struct {
	states, path string // states as path.Match takes them; a path may end with * for whatever follows
	reason       string
}

// differences are those of status json.
var differences = []difference{
	{"1[023]-*", "cluster.clients.supported_versions*", "who has asked for something in the last minute is of no use to anybody here"},
	{"10-*", "cluster.data.least_operating_space_bytes_log_server", "logs that have just been recruited have no figures for a moment"},
	{"10-*", "cluster.qos.worst_queue_bytes_log_server", "the same"},
}

func (d difference) covers(state, at string) bool {
	inState, err := path.Match(d.states, state)
	if err != nil {
		panic(err)
	}
	prefix, open := strings.CutSuffix(d.path, "*")
	return inState && (at == d.path || open && strings.HasPrefix(at, prefix))
}

// TestStatusIsThatOfARealServer compares each recorded document with that of a simulated cluster in the same state: every key,
// what kind of value it has, and the value where it is a word.
func TestStatusIsThatOfARealServer(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder(t), "status-*.json"))
	require.NoError(t, err)
	real := map[string]map[string]string{}
	for _, file := range files {
		document, err := os.ReadFile(file)
		require.NoError(t, err)
		real[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "status-"), ".json")] = structure(t, document)
	}
	require.GreaterOrEqual(t, len(real), 36)
	used := make([]bool, len(differences))
	compared := map[string]bool{}
	s := &stage{t: t, m: recorded(t), compare: func(state string, document []byte) {
		require.NotNil(t, real[state], "%s was not recorded", state)
		compared[state] = true
		differ(t, state, real[state], structure(t, document), used)
	}}
	s.play()
	require.Len(t, compared, len(real), "each recorded state is played")
	for i, d := range differences {
		assert.True(t, used[i], "%s in %s does not differ any more: take it off the list", d.path, d.states)
	}
}

func structure(t *testing.T, document []byte) map[string]string {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(document, &value))
	out := map[string]string{}
	leaves(value, "", out)
	return out
}

func differ(t *testing.T, state string, want, got map[string]string, used []bool) {
	t.Helper()
	paths := maps.Clone(want)
	maps.Copy(paths, got)
	for _, at := range slices.Sorted(maps.Keys(paths)) {
		w, g := want[at], got[at]
		if w == g {
			continue
		}
		i := slices.IndexFunc(differences, func(d difference) bool { return d.covers(state, at) })
		if i >= 0 {
			used[i] = true
			continue
		}
		t.Errorf("%s: %s: the real one has %s, the simulated one %s", state, at, or(w), or(g))
	}
}

func or(what string) string {
	if what == "" {
		return "nothing"
	}
	return what
}
