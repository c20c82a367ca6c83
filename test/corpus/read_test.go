package corpus

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// most bounds the length of a recorded line.
const most = 16 << 20

// decision is a saved snapshot with the recorded answers.
type decision struct {
	ID       string          `json:"id"`
	Snapshot json.RawMessage `json:"snapshot"`
	Answers  json.RawMessage `json:"answers"`
}

// record is a saved journal.
type record struct {
	ID      string          `json:"id"`
	Journal json.RawMessage `json:"journal"`
}

// entryID names an entry of a journal.
func entryID(journal string, i int) string { return fmt.Sprintf("%s#%d", journal, i) }

// read returns the lines of a recording.
func read[T any](t testing.TB, file string) []T {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, most)
	var all []T
	for lines.Scan() {
		var one T
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		all = append(all, one)
	}
	require.NoError(t, lines.Err())
	return all
}
