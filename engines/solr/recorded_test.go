package solr

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recording is one answer of a real server; see testdata/recorded/README.md.
type recording struct {
	name, version string
	request       string
	status        int
	body          string
}

// recordings reads those whose name starts so, of all versions.
func recordings(t testing.TB, prefix string) []recording {
	files, err := filepath.Glob(filepath.Join("testdata", "recorded", "*", prefix+"*.txt"))
	require.NoError(t, err)
	out := make([]recording, 0, len(files))
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		head, body, ok := strings.Cut(string(data), "\n\n")
		require.True(t, ok, file)
		request, status, ok := strings.Cut(head, "\n")
		require.True(t, ok, file)
		code, err := strconv.Atoi(status)
		require.NoError(t, err, file)
		out = append(out, recording{
			name: strings.TrimSuffix(filepath.Base(file), ".txt"), version: filepath.Base(filepath.Dir(file)),
			request: request, status: code, body: body,
		})
	}
	return out
}
