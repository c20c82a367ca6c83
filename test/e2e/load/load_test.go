package load_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
)

func run(t *testing.T, handler http.HandlerFunc, requests int64) load.Stats {
	t.Helper()
	var n atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) >= requests {
			cancel()
		}
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := load.New(load.Options{
		Targets: func() []string { return []string{server.URL} }, Collections: []string{"books", "logs"},
		Pause: time.Millisecond, Think: time.Millisecond, Timeout: time.Minute,
	})
	require.NoError(t, err)
	return c.Run(ctx)
}

func TestCountsAcknowledgedDocuments(t *testing.T) {
	var docs atomic.Int64
	stats := run(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/update") {
			b, _ := io.ReadAll(r.Body)
			docs.Add(int64(strings.Count(string(b), `"id"`)))
		}
	}, 100)
	require.Zero(t, stats.Failed)
	require.GreaterOrEqual(t, stats.Requests, 100)
	require.EqualValues(t, docs.Load(), stats.Acked["books"]+stats.Acked["logs"])
	require.Positive(t, stats.Acked["logs"])
}

func TestRetriesThenSucceeds(t *testing.T) {
	var n atomic.Int64
	stats := run(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%7 == 0 { // never three in a row
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}, 60)
	require.Zero(t, stats.Failed, stats.Failures)
	require.Positive(t, stats.Retried)
}

func TestThreeFailuresFail(t *testing.T) {
	stats := run(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotExtended) }, 30)
	require.Equal(t, stats.Requests, stats.Failed)
	require.Contains(t, stats.Failures[0].Error, "status 510")
}

func TestOtherStatusIsNotRetried(t *testing.T) {
	var n atomic.Int64
	stats := run(t, func(w http.ResponseWriter, _ *http.Request) { n.Add(1); w.WriteHeader(http.StatusNotFound) }, 30)
	require.Equal(t, int(n.Load()), stats.Failed)
}

func TestOptionsAreNeeded(t *testing.T) {
	_, err := load.New(load.Options{})
	require.ErrorContains(t, err, "targets and collections")
}

// Two of three pods do not answer: each request ends up with the third.
func TestEachTryIsThroughAnotherPod(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	defer server.Close()
	down := httptest.NewServer(nil)
	down.Close()
	c, err := load.New(load.Options{
		Targets:     func() []string { return []string{down.URL, server.URL, down.URL + "/"} },
		Collections: []string{"books"}, Threads: 2, Think: time.Millisecond, Pause: time.Millisecond,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for c.Stats().Requests < 60 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	stats := c.Run(ctx)
	require.Zero(t, stats.Failed, stats.Failures)
	require.Positive(t, stats.Retried)
}

// One acknowledged document is not there, and one that nobody acknowledged is:
// counts agree, ids do not.
func TestGoneIsLookedForById(t *testing.T) {
	var mu sync.Mutex
	var ids []string
	c, err := loadInto(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/update") {
			var docs []struct{ ID string }
			require.NoError(t, json.NewDecoder(r.Body).Decode(&docs))
			for _, d := range docs {
				ids = append(ids, d.ID)
			}
			return
		}
		if r.URL.Query().Get("fl") == "id" {
			var docs []map[string]string
			for _, id := range append(ids[1:], "nobody-asked") {
				docs = append(docs, map[string]string{"id": id})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"response": map[string]any{"docs": docs}})
		}
	})
	require.NoError(t, err)
	gone, err := c.Gone("books")
	require.NoError(t, err)
	require.Len(t, gone, 1)
	require.Equal(t, ids[0], gone[0].ID)
	require.Contains(t, gone[0].String(), "acknowledged at ")
}

// loadInto writes a few documents through the handler.
func loadInto(t *testing.T, handler http.HandlerFunc) (*load.Client, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := load.New(load.Options{Targets: func() []string { return []string{server.URL} }, Collections: []string{"books"}, Threads: 1, Think: time.Millisecond})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for c.Stats().Acked["books"] < 12 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	c.Run(ctx)
	return c, nil
}
