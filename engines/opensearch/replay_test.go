package opensearch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/web/webtest"
)

// exchange is a request of the adapter and the server's answer.
type exchange struct {
	request string // method, path and query
	body    string // of the request
	status  int
	answer  []byte
}

// between is the line that separates exchanges in a file.
const between = "----\n"

func (x exchange) String() string {
	out := x.request + "\n"
	if x.body != "" {
		out += x.body + "\n"
	}
	var indented bytes.Buffer
	answer := string(x.answer)
	if json.Indent(&indented, x.answer, "", " ") == nil {
		answer = indented.String() + "\n"
	}
	return fmt.Sprintf("%s%d\n\n%s", out, x.status, answer)
}

func parseExchange(text string) (exchange, error) {
	head, answer, ok := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || len(lines) < 2 || len(lines) > 3 {
		return exchange{}, fmt.Errorf("%q: must be a request, perhaps its body, a status, an empty line", head)
	}
	status, err := strconv.Atoi(lines[len(lines)-1])
	x := exchange{request: lines[0], status: status, answer: []byte(answer)}
	if len(lines) == 3 {
		x.body = lines[1]
	}
	return x, err
}

// conversation is what was asked and answered in one situation.
type conversation []exchange

func (c conversation) String() string {
	texts := make([]string, len(c))
	for i, x := range c {
		texts[i] = x.String()
	}
	return strings.Join(texts, between)
}

func readConversation(t testing.TB, path string) conversation {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var c conversation
	for part := range strings.SplitSeq(string(text), between) {
		x, err := parseExchange(part)
		require.NoError(t, err, path)
		c = append(c, x)
	}
	return c
}

// replay is a server that answers what was recorded, and nothing else.
func replay(t *testing.T, c conversation) Options {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := r.Method + " " + r.URL.RequestURI()
		i := slices.IndexFunc(c, func(x exchange) bool { return x.request == request })
		if i < 0 {
			t.Errorf("not recorded: %s", request)
			http.Error(w, "", http.StatusNotFound)
			return
		}
		w.WriteHeader(c[i].status)
		_, _ = w.Write(c[i].answer)
	}))
	t.Cleanup(server.Close)
	host, port := webtest.Address(t, server.URL)
	return Options{Access: web.Access{Host: host, Port: port, Timeout: time.Minute}}
}

// listener is a proxy between the adapter and a server that records what they say.
type listener struct {
	try func(method, path, body string) ([]byte, int, error)

	mu    sync.Mutex
	heard conversation
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	x := exchange{request: r.Method + " " + r.URL.RequestURI(), body: string(body)}
	if x.answer, x.status, err = l.try(r.Method, r.URL.RequestURI(), x.body); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	l.mu.Lock()
	l.heard = append(l.heard, x)
	l.mu.Unlock()
	w.WriteHeader(x.status)
	_, _ = w.Write(x.answer)
}

// listen returns what is said while the engine does something.
func listen(t *testing.T, try func(method, path, body string) ([]byte, int, error), do func(e *Engine)) conversation {
	l := &listener{try: try}
	server := httptest.NewServer(l)
	defer server.Close()
	host, port := webtest.Address(t, server.URL)
	e, err := New(Options{Access: web.Access{Host: host, Port: port, Timeout: time.Minute}})
	require.NoError(t, err)
	defer e.Close()
	do(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard
}

func queryOf(t *testing.T, target string) url.Values {
	u, err := url.Parse(target)
	require.NoError(t, err)
	return u.Query()
}

func recordedFiles(t testing.TB) []string {
	files, err := filepath.Glob(filepath.Join("testdata", "recorded", "*", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}
