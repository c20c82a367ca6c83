package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/journal"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestJournalAndReplay(t *testing.T) {
	first := rolling(t)
	paused := rolling(t, func(s *model.Snapshot) { s.Cluster.Paused = true })
	paused.DecidedAt = first.DecidedAt.Add(time.Minute)
	w := newWorld(t, first, paused)

	lines := strings.Split(strings.TrimSpace(w.must("journal", "search")), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], "Rolling   go search-2 Restart (Outdated), hold search-1 pod-budget, and 1 more held")
	require.Contains(t, lines[1], "Paused    hold - paused")
	require.Len(t, strings.Split(strings.TrimSpace(w.must("journal", "search", "--last", "1")), "\n"), 1)

	for _, format := range []string{"json", "yaml"} {
		file := filepath.Join(t.TempDir(), "journal."+format)
		require.NoError(t, os.WriteFile(file, []byte(w.must("journal", "search", "-o", format)), 0o600))
		require.Equal(t, "2 of 2 decisions are the same\n", w.must("replay", file))
		require.Contains(t, w.must("replay", file, "-o", "json"), `"differs": []`)
	}

	_, _, stderr := w.run("journal", "none")
	require.Contains(t, stderr, "nothing has been decided about DatabaseCluster prod/none")
	_, _, stderr = w.run("journal", "search", "--last", "-1")
	require.Contains(t, stderr, "--last is -1")
}

func TestReplayTellsWhatDiffers(t *testing.T) {
	d := rolling(t)
	w := newWorld(t, d)
	write := func(value any) string {
		data, err := json.Marshal(value)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "journal")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		return file
	}
	entry := journal.Entry{At: model.At(d.DecidedAt), Snapshot: d.Snapshot, Plan: d.Plan}
	entry.Plan.Steps = []model.Step{}
	code, stdout, stderr := w.run("replay", write(journal.Journal{Version: 1, Entries: []journal.Entry{entry}}))
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stdout, "entries[0] of 2")
	require.Contains(t, stdout, "  is\n    order  search-2")
	require.Contains(t, stderr, "1 of 1 decisions differ")

	code, _, stderr = w.run("replay", write(d.Snapshot))
	require.Equal(t, cli.ExitNotASnapshot, code)
	require.Contains(t, stderr, "journal: ")
	code, _, _ = w.run("replay", "nowhere")
	require.Equal(t, cli.ExitNotASnapshot, code)
}
