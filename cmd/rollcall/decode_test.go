package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// A snapshot is the same in both formats, with all its fields.
func TestSnapshotIsTheSameInJSONAndYAML(t *testing.T) {
	data, err := json.Marshal(rolling(t).Snapshot)
	require.NoError(t, err)
	fromJSON, err := snapshotOf(data)
	require.NoError(t, err)
	require.Equal(t, rolling(t).Plan, policy.Decide(fromJSON))
	text, err := yaml.JSONToYAML(data)
	require.NoError(t, err)
	fromYAML, err := snapshotOf(text)
	require.NoError(t, err)
	require.Equal(t, fromJSON, fromYAML)
}

func snapshotOf(document []byte) (s model.Snapshot, err error) {
	a := &cli.App{IOStreams: genericiooptions.IOStreams{In: bytes.NewReader(document)}}
	err = a.ReadDocument("-", "snapshot", func(data []byte) (err error) {
		s, err = model.Decode(data)
		return err
	})
	return s, err
}
