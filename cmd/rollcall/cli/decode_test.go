package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Whatever is given as a snapshot, there is an answer and not a panic.
func FuzzDecodeSnapshot(f *testing.F) {
	for _, seed := range []string{
		"", "{", "version: 1", "version: 1\nnow: 2026-11-20T12:00:00Z\npods: [{name: a}, {name: a}]", `{"version": 1, "pools": [{"replicas": 1e9}]}`,
		"a: &a [*a]", "version: 1\ncluster: {spec: {policy: {maxUnavailable: -1%}}}", "\x00", "--- \n---", "!!binary x", strings.Repeat("[", 1000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := snapshotOf(data)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, policy.Decide(s).Text())
	})
}

func snapshotOf(document []byte) (model.Snapshot, error) {
	data, err := documentJSON(document, "snapshot")
	if err != nil {
		return model.Snapshot{}, err
	}
	return model.Decode(data)
}
