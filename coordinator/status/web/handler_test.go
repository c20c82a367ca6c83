package web

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/coordinator/status/web/webtest"
)

// rolling is a board on which a rollout went on for some minutes.
func rolling(t testing.TB) (*status.Board, *Timelines) {
	t.Helper()
	timelines := NewTimelines()
	board := status.NewBoard(timelines)
	webtest.Rolling(t, board)
	return board, timelines
}

func ask(t testing.TB, h http.Handler, method, path string) (int, http.Header, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return w.Code, w.Header(), w.Body.String()
}

// No method but GET and HEAD has an effect or an answer.
func TestTheServerOnlyReads(t *testing.T) {
	h := NewHandler(rolling(t))
	for _, path := range []string{"/", "/page.js", "/api/clusters", "/api/clusters/prod/books", "/api/clusters/prod/books/live", "/api/clusters/prod/books/pods/books-1"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect, http.MethodOptions} {
			code, _, _ := ask(t, h, method, path)
			require.Equal(t, http.StatusMethodNotAllowed, code, "%s %s", method, path)
		}
	}
}

// Errors too.
func TestEveryAnswerIsLockedDown(t *testing.T) {
	h := NewHandler(rolling(t))
	for path, want := range map[string]int{
		"/": 200, "/page.css": 200, "/nothing": 404, "/../handler.go": 404, "/api/clusters": 200, "/api/clusters/prod/none": 404,
		"/api/clusters/prod/books/pods/none-1": 404,
	} {
		code, header, _ := ask(t, h, http.MethodGet, path)
		if code == http.StatusMovedPermanently || code == http.StatusTemporaryRedirect {
			code = 404 // a path that is not clean leads to the clean one
		}
		require.Equal(t, want, code, path)
		require.Equal(t, contentPolicy, header.Get("Content-Security-Policy"), path)
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
		require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe")
	}
}

func TestAnswersOfTheAPI(t *testing.T) {
	h := NewHandler(rolling(t))
	_, header, body := ask(t, h, http.MethodGet, "/api/clusters")
	require.Equal(t, "no-store", header.Get("Cache-Control"))
	var list []Summary
	require.NoError(t, json.Unmarshal([]byte(body), &list))
	require.Len(t, list, 1)
	require.Equal(t, "books", list[0].Name)

	_, _, body = ask(t, h, http.MethodGet, "/api/clusters/prod/books")
	var view View
	require.NoError(t, json.Unmarshal([]byte(body), &view))
	require.Len(t, view.Timeline.Stretches, 6)

	_, _, body = ask(t, h, http.MethodGet, "/api/clusters/prod/books/pods/books-0")
	var e status.Explanation
	require.NoError(t, json.Unmarshal([]byte(body), &e))
	require.Equal(t, "books-0", e.Pod)
	require.NotEmpty(t, e.Facts)
}

// TestAStandbySaysWhoLeads and shows nothing.
func TestAStandbySaysWhoLeads(t *testing.T) {
	board, timelines := rolling(t)
	board.Follow("10.0.0.7:7950")
	h := NewHandler(board, timelines)
	for _, path := range []string{"/api/clusters", "/api/clusters/prod/books", "/api/clusters/prod/books/pods/books-1"} {
		code, _, body := ask(t, h, http.MethodGet, path)
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.JSONEq(t, `{"error":"this coordinator is not elected; ask 10.0.0.7:7950"}`, body)
	}
}

// events reads server-sent events until the stream ends.
func events(t *testing.T, server *httptest.Server, path string) (<-chan [2]string, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
	require.NoError(t, err)
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	out := make(chan [2]string, 16)
	go func() {
		defer close(out)
		defer response.Body.Close()
		lines := bufio.NewReader(response.Body)
		var name string
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				name = strings.TrimSpace(v)
			} else if v, ok := strings.CutPrefix(line, "data: "); ok {
				out <- [2]string{name, strings.TrimSpace(v)}
			}
		}
	}()
	return out, cancel
}

func next(t *testing.T, from <-chan [2]string) [2]string {
	t.Helper()
	select {
	case event, ok := <-from:
		require.True(t, ok, "the stream has ended")
		return event
	case <-time.After(time.Minute):
		t.Fatal("no event comes")
	}
	return [2]string{}
}

// TestLiveTellsEachDecision, and that this coordinator leads no more.
func TestLiveTellsEachDecision(t *testing.T) {
	board, timelines := rolling(t)
	asked := make(chan status.Key, 16)
	board.OnAsk(func(key status.Key) { asked <- key })
	server := httptest.NewServer(NewHandler(board, timelines))
	defer server.Close()
	stream, cancel := events(t, server, "/api/clusters/prod/books/live")
	defer cancel()
	phase := func(event [2]string) model.ClusterPhase {
		require.Equal(t, "view", event[0])
		var v View
		require.NoError(t, json.Unmarshal([]byte(event[1]), &v))
		return v.Phase
	}
	require.Equal(t, model.ClusterRolling, phase(next(t, stream)))
	require.Empty(t, asked)

	done := webtest.Books(t, webtest.At(200), webtest.UpdatedTo(0))
	done.Idle = true
	board.Publish(done)
	require.Equal(t, model.ClusterDone, phase(next(t, stream)))
	require.Equal(t, done.Key, <-asked, "somebody looks, so the agents are asked")

	board.Follow("")
	event := next(t, stream)
	require.Equal(t, "problem", event[0])
	require.Contains(t, event[1], "not elected")
}

// Those that are there go on, and who leaves makes room.
func TestStreamsAreBounded(t *testing.T) {
	h := NewHandler(rolling(t))
	server := httptest.NewServer(h)
	defer server.Close()
	_, leave := events(t, server, "/api/clusters/prod/books/live")
	for len(h.streams) < maxStreams {
		h.streams <- struct{}{}
	}
	response, err := server.Client().Get(server.URL + "/api/clusters/prod/books/live")
	require.NoError(t, err)
	body, _ := io.ReadAll(response.Body)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Contains(t, string(body), "too many pages are open")
	leave()
	require.Eventually(t, func() bool { return len(h.streams) == maxStreams-1 }, time.Minute, 10*time.Millisecond)
}
