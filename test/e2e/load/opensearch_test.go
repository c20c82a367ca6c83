package load_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
)

// indices answers as OpenSearch does, with what was put there.
type indices struct {
	mu   sync.Mutex
	docs map[string]bool // index/id
	lose string
}

func (x *indices) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	index, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	id, put := strings.CutPrefix(rest, "_doc/")
	switch {
	case put && r.Method == http.MethodPut:
		if id != x.lose {
			x.docs[index+"/"+id] = true
		}
		w.WriteHeader(http.StatusCreated)
	case rest == "_search" && r.URL.Query().Get("allow_partial_search_results") == "false":
	case rest == "_mget":
		var asked struct{ IDs []string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		docs := []map[string]any{}
		for _, id := range asked.IDs {
			doc := map[string]any{"_id": id, "found": x.docs[index+"/"+id]}
			if index == "broken" {
				doc = map[string]any{"_id": id, "error": map[string]any{"type": "no_shard_available_action_exception"}}
			}
			docs = append(docs, doc)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"docs": docs})
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func openSearch(t *testing.T, x *indices, collections ...string) *load.Client {
	t.Helper()
	x.docs = map[string]bool{}
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	c, err := load.New(load.Options{
		Database: load.OpenSearch{}, Targets: func() []string { return []string{server.URL} }, Collections: collections,
		Pause: time.Millisecond, Think: time.Millisecond, Prefix: "r",
	})
	require.NoError(t, err)
	return c
}

func TestOpenSearchIsWrittenAndRead(t *testing.T) {
	x := &indices{}
	c := openSearch(t, x, "books", "logs")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for c.Stats().Requests < 100 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	stats := c.Run(ctx)
	require.Zero(t, stats.Failed, stats.Failures)
	require.Equal(t, len(x.docs), stats.Acked["books"]+stats.Acked["logs"])
	require.Greater(t, stats.Requests, len(x.docs), "searches too")
	require.Equal(t, []string{"books", "logs"}, c.Written())
	for _, index := range c.Written() {
		gone, err := c.Gone(index)
		require.NoError(t, err)
		require.Empty(t, gone)
	}
}

func TestOpenSearchThatLosesADocument(t *testing.T) {
	c := openSearch(t, &indices{lose: "r-7"}, "books")
	for _, key := range []string{"5", "6", "7", "8"} {
		require.True(t, c.Put("books", key))
	}
	gone, err := c.Gone("books")
	require.NoError(t, err)
	require.Len(t, gone, 1)
	require.Equal(t, "r-7", gone[0].ID)
}

// A document that cannot be looked for is not there and not gone.
func TestOpenSearchThatCannotBeAsked(t *testing.T) {
	c := openSearch(t, &indices{}, "broken")
	require.True(t, c.Put("broken", "1"))
	_, err := c.Gone("broken")
	require.ErrorContains(t, err, "r-1 of broken could not be looked for")
}

// A search that lost a node half way is repeated, a write that is answered so is not.
func TestOpenSearchIsAskedAgain(t *testing.T) {
	lost := []byte(`{"error":{"root_cause":[{"type":"search_context_missing_exception"}],"type":"search_phase_execution_exception","phase":"fetch"},"status":404}`)
	search, write := load.OpenSearch{}.Read("books"), load.OpenSearch{}.Write("books", "1")
	require.True(t, load.OpenSearch{}.Again(search, 404, lost))
	require.True(t, load.OpenSearch{}.Again(search, 500, lost))
	require.False(t, load.OpenSearch{}.Again(write, 404, lost))
	require.False(t, load.OpenSearch{}.Again(search, 404, []byte(`{"error":{"type":"index_not_found_exception"}}`)))
	require.True(t, load.OpenSearch{}.Again(write, 503, nil))
	require.False(t, load.OpenSearch{}.Again(write, 500, nil))
}
