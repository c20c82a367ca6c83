package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// How the agent is built small; agent/DESIGN.md says what each flag saves.
const (
	tags       = "grpcnotrace,nethttpomithttp2"
	noInlining = "-gcflags=all=-l"
	alignment  = "-funcalign=16"
)

// TestEverybodyBuildsItSmall checks the three places that build programs for pods.
func TestEverybodyBuildsItSmall(t *testing.T) {
	for _, place := range []string{"Makefile", "deploy/docker/agent.Dockerfile", "test/cluster/image/own.go"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(place)))
		require.NoError(t, err)
		for _, flag := range []string{tags, noInlining, alignment} {
			require.Contains(t, string(text), flag, place)
		}
	}
}

// TestLinksNothingHeavy checks that packages that were once linked without need are not linked
// again.
func TestLinksNothingHeavy(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := list.Output()
	require.NoError(t, err)
	linked := map[string]bool{}
	for p := range strings.FieldsSeq(string(output)) {
		linked[p] = true
	}
	require.True(t, linked["google.golang.org/grpc"])
	for _, heavy := range []string{
		"vendor/golang.org/x/net/http2/hpack", // net/http's own HTTP/2; gRPC has another
		"golang.org/x/net/trace", "net/http/pprof", "testing",
	} {
		require.False(t, linked[heavy], heavy)
	}
}
