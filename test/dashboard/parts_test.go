package dashboard

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFormat(t *testing.T) {
	two := 2
	for _, c := range []struct {
		v        float64
		unit     string
		decimals *int
		want     string
	}{
		{0, "none", nil, "0"}, {3, "none", nil, "3"}, {0.02, "none", nil, "0.02"}, {1234, "none", nil, "1234"}, {1234, "short", nil, "1.23K"},
		{0, "s", nil, "0 s"}, {0.25, "s", nil, "250 ms"}, {42, "s", nil, "42 s"}, {90, "s", nil, "1.5 mins"}, {7200, "s", nil, "2 hours"}, {1e6, "s", nil, "1.65 weeks"},
		{0, "bytes", nil, "0 B"}, {40 << 20, "bytes", nil, "40 MiB"}, {0.125, "ops", nil, "0.125 ops/s"}, {0.03, "percentunit", nil, "3%"},
		{1, "none", &two, "1.00"}, {-90, "s", nil, "-1.5 mins"},
	} {
		require.Equal(t, c.want, Format(c.v, c.unit, c.decimals), "%v %s", c.v, c.unit)
	}
}

func TestTicksAreRoundAndCover(t *testing.T) {
	require.Equal(t, []float64{0, 1, 2, 3}, ticks(0, 3, "none", 5))
	require.Equal(t, []float64{0, 120, 240}, ticks(0, 220, "s", 3))
	require.Equal(t, []float64{0, 10 << 20, 20 << 20, 30 << 20, 40 << 20, 50 << 20}, ticks(0, 41<<20, "bytes", 5))
	require.Equal(t, []float64{0, 0.5, 1}, ticks(0, 0, "none", 2), "a line at 0 has room above it")
}

// TestOverridesChangeNothingElse checks that an override changes neither the defaults nor the next
// line.
func TestOverridesChangeNothingElse(t *testing.T) {
	var p Panel
	require.NoError(t, json.Unmarshal([]byte(`{"fieldConfig": {
		"defaults": {"unit": "s", "decimals": 1, "thresholds": {"steps": [{"color": "green", "value": null}, {"color": "red", "value": 5}]}},
		"overrides": [{"matcher": {"id": "byName", "options": "a"}, "properties": [
			{"id": "unit", "value": "bytes"}, {"id": "decimals", "value": 3}, {"id": "thresholds", "value": {"steps": [{"color": "blue", "value": null}, {"color": "orange", "value": 7}]}}]},
		{"matcher": {"id": "byFrameRefID", "options": "B"}, "properties": [{"id": "custom.lineWidth", "value": 9}]}]}}`), &p))
	a, err := p.field("a", "A")
	require.NoError(t, err)
	require.Equal(t, "bytes", a.Unit)
	require.Equal(t, 3, *a.Decimals)
	require.Equal(t, "blue", a.reached(5))
	require.Zero(t, a.Custom.LineWidth)
	b, err := p.field("b", "B")
	require.NoError(t, err)
	require.Equal(t, "s", b.Unit)
	require.Equal(t, 1, *b.Decimals)
	require.Equal(t, "red", b.reached(5))
	require.Equal(t, "green", b.reached(4.9))
	require.Equal(t, 9.0, b.Custom.LineWidth)
}

func TestMatrixAndOrganize(t *testing.T) {
	in := Table{Columns: []string{"Time", "cluster", "state", "Value"}, Rows: [][]any{{"", "x", "ready", 3.0}, {"", "y", "away", 1.0}, {"", "x", "away", 2.0}}}
	out, err := matrix(in, json.RawMessage(`{"rowField": "cluster", "columnField": "state", "valueField": "Value"}`))
	require.NoError(t, err)
	require.Equal(t, Table{Columns: []string{`cluster\state`, "ready", "away"}, Rows: [][]any{{"x", 3.0, 2.0}, {"y", "", 1.0}}}, out)
	out, err = organize(out, json.RawMessage(`{"excludeByName": {"ready": true}, "indexByName": {"away": 0, "cluster\\state": 1}, "renameByName": {"cluster\\state": "database"}}`))
	require.NoError(t, err)
	require.Equal(t, Table{Columns: []string{"away", "database"}, Rows: [][]any{{2.0, "x"}, {1.0, "y"}}}, out)
	_, err = matrix(in, json.RawMessage(`{"rowField": "cluster", "columnField": "phase", "valueField": "Value"}`))
	require.ErrorContains(t, err, "there is no cluster, phase or Value")
}

// TestPackEndsWhatVanishes checks that a series that a scrape has no more, one of a target that
// does not answer, and one of a target that is gone, are over at once and not five minutes later.
func TestPackEndsWhatVanishes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording")
	f, err := os.Create(file)
	require.NoError(t, err)
	packed := gzip.NewWriter(f)
	const began = 1790000000
	for s := range 60 {
		at := (began+s)*1000 + 7
		switch {
		case s < 20:
			fmt.Fprintf(packed, "#scrape {\"at\":%d,\"labels\":{\"pod\":\"a\"}}\nrollcall_x 1\nrollcall_y{l=\"m\"} %d\nprocess_open_fds 3\n", at, s)
		case s < 40:
			fmt.Fprintf(packed, "#scrape {\"at\":%d,\"labels\":{\"pod\":\"a\"}}\nrollcall_x 1\n", at)
		default:
			fmt.Fprintf(packed, "#scrape {\"at\":%d,\"labels\":{\"pod\":\"a\"},\"failed\":\"refused\"}\n", at)
		}
		if s < 30 {
			fmt.Fprintf(packed, "#scrape {\"at\":%d,\"labels\":{\"pod\":\"b\"}}\nrollcall_x 2\n", at)
		}
	}
	require.NoError(t, packed.Close())
	require.NoError(t, f.Close())
	dir := t.TempDir()
	require.NoError(t, Pack(t.Context(), Packing{Recording: file, Dir: dir, Every: 5 * time.Second}))
	store, err := Open(dir)
	require.NoError(t, err)
	defer store.Close()
	last := func(expr string) int64 {
		t.Helper()
		found, err := store.Range(t.Context(), expr, time.Unix(began, 0), time.Unix(began+60, 0), 5*time.Second)
		require.NoError(t, err)
		require.Len(t, found, 1, expr)
		return found[0].Points[len(found[0].Points)-1].At/1000 - began
	}
	require.EqualValues(t, 15, last(`rollcall_y`))
	require.EqualValues(t, 35, last(`rollcall_x{pod="a"}`))
	require.EqualValues(t, 25, last(`rollcall_x{pod="b"}`))
	require.EqualValues(t, 35, last(`up{pod="a"} == 1`))
	none, err := store.Instant(t.Context(), "process_open_fds", time.Unix(began+10, 0))
	require.NoError(t, err)
	require.Empty(t, none)
}
