package scrapes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRecordingIsWhatWasAnswered(t *testing.T) {
	var n atomic.Int32
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# HELP rollcall_leader x\n# TYPE rollcall_leader gauge\nrollcall_leader %d\ngo_threads 7\n", n.Add(1))
	}))
	defer good.Close()
	bad := httptest.NewServer(http.NotFoundHandler())
	defer bad.Close()
	targets := []Target{{good.URL, map[string]string{"pod": "a"}}, {bad.URL, map[string]string{"pod": "b"}}}
	file := filepath.Join(t.TempDir(), "recording")
	ctx, stop := context.WithCancel(t.Context())
	out, err := os.Create(file)
	require.NoError(t, err)
	rounds := 0
	require.NoError(t, Record(ctx, out, time.Second, func() []Target {
		if rounds++; rounds == 3 {
			stop()
			return nil
		}
		return targets
	}))

	var got []Scrape
	read := func() error {
		got = nil
		return Read(file, func(s Scrape) error {
			got = append(got, s)
			return nil
		})
	}
	require.NoError(t, read())
	require.Len(t, got, 4)
	for i, s := range got {
		require.NotZero(t, s.At)
		require.Equal(t, targets[i%2].Labels, s.Labels)
		if i%2 == 0 {
			require.Empty(t, s.Failed)
			require.Equal(t, fmt.Sprintf("# TYPE rollcall_leader gauge\nrollcall_leader %d\n", i/2+1), s.Text)
		} else {
			require.Contains(t, s.Failed, "404")
			require.Empty(t, s.Text)
		}
	}

	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, whole[:len(whole)-12], 0o600))
	require.NoError(t, read(), "of a run that broke off")
	require.Len(t, got, 3)

	broken := errors.New("of the reader")
	require.ErrorIs(t, Read(file, func(Scrape) error { return broken }), broken)
}
