package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/status/web"
)

var pageLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)

// page starts the program and answers where the page is.
func (w *world) page(args ...string) (url string, r *running, end func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r = w.start(ctx, append([]string{"page", "--listen", "127.0.0.1:0"}, args...)...)
	r.says("interrupt to end")
	url = pageLink.FindString(r.out.String())
	require.NotEmpty(w.t, url, r.out.String())
	return url, r, func() {
		cancel()
		require.Zero(w.t, r.end())
	}
}

func get(t *testing.T, url string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// TestPageThroughTheAPIServer checks that the page of the elected coordinator, with the reader's
// certificate, and another one's when that is elected.
func TestPageThroughTheAPIServer(t *testing.T) {
	d := rolling(t)
	w := newWorld(t, d)
	url, r, end := w.page("search")
	require.Contains(t, r.out.String(), "/#prod/search\n")
	code, body := get(t, url)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "<title>Rollcall</title>")
	var view web.View
	_, body = get(t, url+"api/clusters/prod/search")
	require.NoError(t, json.Unmarshal([]byte(body), &view))
	require.Equal(t, d.Plan.Order, view.Order)

	// A page of somebody else that names this machine as it likes reads nothing.
	code, body = get(t, url, "Host", "evil.example:8951")
	require.Equal(t, http.StatusMisdirectedRequest, code)
	require.NotContains(t, body, "search")

	// Nobody listens any more: it is said, and the next one is found.
	w.mu.Lock()
	before := w.ports["7952"]
	w.ports["7952"] = "127.0.0.1:1"
	w.mu.Unlock()
	http.DefaultClient.CloseIdleConnections()
	other, _, endOther := w.page()
	code, body = get(t, other+"api/clusters")
	require.Equal(t, http.StatusBadGateway, code)
	require.Contains(t, body, "error")
	w.mu.Lock()
	w.ports["7952"] = before
	w.mu.Unlock()
	code, _ = get(t, other+"api/clusters")
	require.Equal(t, http.StatusOK, code)
	endOther()
	end()
}

// TestPageWantsAReader checks that a client without a certificate, or with that of an agent, gets
// nothing.
func TestPageWantsAReader(t *testing.T) {
	w := newWorld(t, rolling(t))
	_, err := http.Get("https://" + w.ports["7952"] + "/")
	require.Error(t, err)
	w.forbid(secretPath)
	code, _, stderr := w.run("page", "search", "--listen", "127.0.0.1:0")
	require.NotZero(t, code)
	require.Contains(t, stderr, "not permitted to get Secret rollcall-system/rollcall-reader")
}

func TestPageOfAJournal(t *testing.T) {
	d := rolling(t)
	w := newWorld(t, d)
	file := filepath.Join(t.TempDir(), "search.json")
	require.NoError(t, os.WriteFile(file, []byte(w.must("journal", "search", "-o", "json")), 0o600))
	url, r, end := w.page("--journal", file)
	defer end()
	require.Contains(t, r.out.String(), "/#prod/search\n")
	var view web.View
	_, body := get(t, url+"api/clusters/prod/search")
	require.NoError(t, json.Unmarshal([]byte(body), &view))
	require.Equal(t, d.Plan.Order, view.Order)
	require.Len(t, view.Timeline.Points, 1)
}

func TestPageRefuses(t *testing.T) {
	w := newWorld(t)
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte(`{"version":1,"cluster":"a/b","entries":[]}`), 0o600))
	for want, args := range map[string][]string{
		"everybody who reaches that address could read the page": {"--listen", "0.0.0.0:8951"},
		"--listen \":8951\": everybody":                          {"--listen", ":8951"},
		"is not host:port":                                       {"--listen", "8951"},
		"give --journal or a name, not both":                     {"search", "--journal", empty},
		"there is no decision in this journal":                   {"--journal", empty},
		"no such file":                                           {"--journal", empty + ".not"},
		"give --ca, --cert and --key with --coordinator":         {"--coordinator", "127.0.0.1:1"},
	} {
		code, _, stderr := w.run(append([]string{"page"}, args...)...)
		require.NotZero(t, code, args)
		require.Contains(t, stderr, want)
	}
}
