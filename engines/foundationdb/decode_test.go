package foundationdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func TestDecodeStatus(t *testing.T) {
	text := example(t).text()
	for name, c := range map[string]struct {
		text  string
		wrong string // part of the error; empty means none
	}{
		"document":             {text, ""},
		"a warning before it":  {"\nWARNING: Long delay (Ctrl-C to interrupt)\n" + text, ""},
		"echo before it":       {">>> status json\n" + text + "\n", ""},
		"nothing":              {"", "breaks off"},
		"no document":          {"Could not retrieve status json.\n", "breaks off"},
		"half of it":           {text[:len(text)/2], "breaks off"},
		"all but the last":     {text[:len(text)-1], "breaks off"},
		"warnings without end": {strings.Repeat("WARNING ", 1<<16), "no document in the first"},
		"not JSON":             {"{\x00\xff", "not JSON"},
		"another program's":    {`{"cluster_name":"logs","status":"green"}`, "it has no client or no cluster"},
		"client only":          {`{"client":{}}`, "it has no client or no cluster"},
		"an array":             {`{"client":[],"cluster":{}}`, "must be an object"},
		"a number for text":    {`{"client":{},"cluster":{"maintenance_zone":7}}`, "maintenance_zone: unexpected JSON number"},
		"text for a number":    {`{"client":{},"cluster":{"recovery_state":{"active_generations":"1"}}}`, "recovery_state: unexpected JSON string"},
		"a process that is no": {`{"client":{},"cluster":{"processes":{"a":"gone"}}}`, "cluster.processes: unexpected JSON string"},
		"null everywhere":      {`{"client":null,"cluster":{"processes":null,"data":null,"logs":null,"configuration":null}}`, ""},
		"what nobody knows":    {`{"client":{"x":[{"y":1}]},"cluster":{"machines":{"m":{"cpu":[1,2]}}}}`, ""},
	} {
		s, err := decodeStatus(strings.NewReader(c.text))
		if c.wrong != "" {
			require.ErrorIs(t, err, ErrStatus, name)
			require.ErrorContains(t, err, c.wrong, name)
			continue
		}
		require.NoError(t, err, name)
		require.NotNil(t, s, name)
	}
	s, err := decodeStatus(strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, s.processes, 4)
	require.Equal(t, []string{"locality_instance_id:fdb-2"}, s.excluded)
	_, err = decodeStatus(&bounded{reader: strings.NewReader(text), left: 1000})
	require.ErrorIs(t, err, ErrTooMuch)
	_, err = decodeStatus(io.MultiReader(strings.NewReader("{"), failing{}))
	require.ErrorContains(t, err, "cable")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("cable") }

func FuzzDecodeStatus(f *testing.F) {
	f.Add([]byte(example(f).text()))
	f.Add([]byte(`{"client":{},"cluster":{}}`))
	f.Add([]byte("WARNING\n{\"client\":null,\"cluster\":{\"processes\":{\"a\":{\"locality\":{}}}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeStatus(bytes.NewReader(data))
		if err != nil {
			require.Nil(t, s)
			return
		}
		o := see(t, string(data), time.Time{})
		if o.Health.Verdict == engines.VerdictGreen || o.Health.Verdict == engines.VerdictRecoverable {
			require.True(t, is(s.available))
			require.NotEmpty(t, s.coordinators)
			require.True(t, s.whole())
		}
		for _, g := range o.Groups {
			seen := map[string]bool{}
			for _, m := range g.Members {
				require.False(t, seen[m.ID], "%s is twice in %s", m.ID, g.ID)
				seen[m.ID] = true
			}
		}
	})
}

// large is a status of so many processes, with what fdbcli prints of each besides.
func large(processes int) []byte {
	one := map[string]any{}
	padding := map[string]any{}
	for i := range 325 {
		padding[fmt.Sprintf("counter_%d", i)] = map[string]any{"counter": 1234567.5, "hz": 12.25, "roughness": 1.5}
	}
	for i := range processes {
		one[fmt.Sprintf("%032x", i)] = map[string]any{
			"address": fmt.Sprintf("10.%d.%d.%d:4500", i/65536, i/256%256, i%256), "class_type": "storage", "version": "7.3.63", "uptime_seconds": 1000.5,
			"excluded": false, "locality": map[string]any{"instance_id": fmt.Sprintf("fdb-%d", i), "zoneid": fmt.Sprintf("zone-%d", i%20)},
			"roles": []any{map[string]any{"role": "storage", "stored_bytes": 1e9, "more": padding}}, "messages": []any{},
		}
	}
	data, _ := json.Marshal(map[string]any{"client": map[string]any{}, "cluster": map[string]any{"processes": one}})
	return data
}

// TestLargeStatusIsSmall checks that little of a large document is kept.
func TestLargeStatusIsSmall(t *testing.T) {
	data := large(200)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s, err := decodeStatus(bytes.NewReader(data))
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Len(t, s.processes, 200)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(len(data)/8))
	runtime.KeepAlive(s)
}

// BenchmarkDecode1000 reads a status of 1,000 processes, and for comparison all of that
// document.
func BenchmarkDecode1000(b *testing.B) {
	data := large(1000)
	b.Run("status", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeStatus(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var all any
			if err := json.Unmarshal(data, &all); err != nil {
				b.Fatal(err)
			}
		}
	})
}
