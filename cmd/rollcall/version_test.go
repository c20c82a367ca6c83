package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOf(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}}
	require.Equal(t, "v9", versionOf("v9", info).Version)
	require.Equal(t, "v1.2.3", versionOf("", info).Version)
	require.Equal(t, "abc", versionOf("", info).Commit)
	require.Equal(t, "(devel)", versionOf("", nil).Version)
}
