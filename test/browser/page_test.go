// Package browser tests the coordinator's page in a real Chromium. It is a module of its
// own because the programs need no driver of a browser.
package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/coordinator/status/web"
	"github.com/rollcall-dev/rollcall/coordinator/status/web/webtest"
)

const (
	// envRequire names what must be there instead of being skipped: chromium.
	envRequire = "ROLLCALL_REQUIRE"
	// envScreenshots is a folder in which pictures of the page are left for people to look at.
	envScreenshots = "ROLLCALL_SCREENSHOTS"
	// enough ends what never happens; on a busy machine a browser takes long to start.
	enough = 5 * time.Minute
)

// browser is a real Chromium with the page in it, and what it complained about.
type browser struct {
	t          *testing.T
	ctx        context.Context
	mu         sync.Mutex
	complaints []string
}

// open waits until the page shows a cluster.
func open(t *testing.T, url string, width, height int64) *browser {
	t.Helper()
	return openUntil(t, url, width, height, "#main")
}

// openUntil waits until something can be seen.
func openUntil(t *testing.T, url string, width, height int64, shown string) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		if strings.Contains(os.Getenv(envRequire), "chromium") {
			t.Fatalf("%s asks for chromium, and there is none", envRequire)
		}
		t.Skip("no Chromium is installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(enough))
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.complaints = append(b.complaints, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.complaints = append(b.complaints, fmt.Sprintf("%+v", e.Entry))
		}
	}))
	size := []chromedp.EmulateViewportOption{}
	if width < 600 {
		size = append(size, chromedp.EmulateMobile)
	}
	b.run(
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, log.Enable, cdp.Empty{})
			return err
		}),
		chromedp.EmulateViewport(width, height, size...), chromedp.Navigate(url), see(shown),
	)
	return b
}

// see waits until something can be seen.
func see(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.WaitVisible(chromedp.CSS(selector))
}

func focusOn(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Focus(chromedp.CSS(selector))
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, enough)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...), "complaints: %q", b.said())
}

func (b *browser) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.complaints...)
}

// eval is the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return v
}

func (b *browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// focus names what has the focus.
func (b *browser) focus() string {
	b.t.Helper()
	return eval[string](b, "document.activeElement.dataset.focus || document.activeElement.id || document.activeElement.tagName")
}

func (b *browser) screenshot(name string) {
	b.t.Helper()
	folder := os.Getenv(envScreenshots)
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name), picture, 0o600))
}

// rolling is a board on which a rollout went on for some minutes.
func rolling(t *testing.T, changes ...func(*model.Snapshot)) (*status.Board, *web.Timelines) {
	t.Helper()
	timelines := web.NewTimelines()
	board := status.NewBoard(timelines)
	webtest.Rolling(t, board, changes...)
	return board, timelines
}

func serve(t *testing.T, board *status.Board, timelines *web.Timelines) string {
	t.Helper()
	server := httptest.NewServer(web.NewHandler(board, timelines))
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// TestRealBrowserShowsARollout checks that every part says what the decision says, and goes on
// saying it as decisions are made; nothing is complained about.
func TestRealBrowserShowsARollout(t *testing.T) {
	board, timelines := rolling(t)
	b := open(t, serve(t, board, timelines), 1280, 900)
	require.Equal(t, "Rolling", b.text("#phase"))
	require.Equal(t, "prod/books (Rolling)", eval[string](b, "document.querySelector('#cluster').selectedOptions[0].text"))
	require.Equal(t, 9, eval[int](b, "document.querySelectorAll('#pods button.pod').length"))
	require.Equal(t, 3, eval[int](b, "document.querySelectorAll('#pods .zone').length"))
	require.Contains(t, b.text("#pods"), "pod-budget")
	require.Equal(t, 18, eval[int](b, "document.querySelectorAll('#copies td.cell').length"))
	require.Contains(t, b.text("#copies"), "2/3")
	require.Contains(t, b.text("#plan"), "books-4")
	require.Contains(t, b.text("#progress"), "were forecast when it began")
	require.Equal(t, 6, eval[int](b, "document.querySelectorAll('#timeline svg rect').length"))
	require.NotRegexp(t, `\b(false|true|undefined|null|NaN|\[object)`, b.text("main"), "values that are no text")
	b.screenshot("rolling.png")

	// A pod has the focus while the page is drawn again.
	b.run(focusOn(`[data-focus="pod/books-4"]`))
	board.Publish(webtest.Books(t, webtest.At(90), webtest.UpdatedTo(4), webtest.Paused))
	b.run(see(".phase-Paused"))
	require.Equal(t, "pod/books-4", b.focus())
	require.Contains(t, b.text("#now"), "paused")
	b.screenshot("paused.png")
	board.Publish(webtest.Books(t, webtest.At(200), webtest.UpdatedTo(0)))
	b.run(see(".phase-Done"))
	require.Contains(t, b.text("#progress"), "It took")
	require.Equal(t, "Nothing asks a pod to go.", b.text("#plan"))
	require.Empty(t, b.said())

	// Every 15 seconds the page asks for the list, and the browser tells of a refusal.
	board.Follow("10.0.0.7:7950")
	b.run(see("#problem"))
	require.Contains(t, b.text("#problem"), "ask 10.0.0.7:7950")
}

// TestRealBrowserShowsNothingBeforeItKnows checks that there are no empty headings before the first
// data have arrived.
func TestRealBrowserShowsNothingBeforeItKnows(t *testing.T) {
	board, timelines := rolling(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/live") {
			<-r.Context().Done() // it takes long
			return
		}
		web.NewHandler(board, timelines).ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	b := openUntil(t, server.URL, 1280, 900, "#cluster:not([disabled])")
	require.Equal(t, "none", eval[string](b, "getComputedStyle(document.querySelector('#main')).display"))
	require.Equal(t, "none", eval[string](b, "getComputedStyle(document.querySelector('#problem')).display"))
	require.Empty(t, b.said())
}

// TestRealBrowserByKeyboard checks that the keyboard reaches a pod's reasons and every cell of the
// matrix.
func TestRealBrowserByKeyboard(t *testing.T) {
	board, timelines := rolling(t)
	b := open(t, serve(t, board, timelines), 1280, 900)
	b.run(focusOn(`[data-focus="pod/books-0"]`), chromedp.KeyEvent(kb.Enter), see("#pod-facts tbody tr"))
	require.True(t, eval[bool](b, "document.querySelector('#pod').open"))
	d, ok := board.Newest(status.Key{Namespace: "prod", Name: "books"})
	require.True(t, ok)
	e, err := status.Explain(d, "books-0")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(e.Text), strings.TrimSpace(b.text("#pod-text")))
	b.screenshot("explain.png")
	b.run(chromedp.KeyEvent(kb.Escape))
	require.False(t, eval[bool](b, "document.querySelector('#pod').open"))
	require.Equal(t, "pod/books-0", b.focus(), "the focus is where it was")

	first := "document.querySelector('#copies td.cell[tabindex=\"0\"]')"
	b.run(chromedp.Evaluate[chromedp.Void](first + ".focus()"))
	from := b.focus()
	b.run(chromedp.KeyEvent(kb.ArrowRight))
	right := b.focus()
	require.NotEqual(t, from, right)
	require.True(t, strings.HasPrefix(right, "cell/"))
	b.run(chromedp.KeyEvent(kb.ArrowLeft))
	require.Equal(t, from, b.focus())
	require.Equal(t, 1, eval[int](b, "document.querySelectorAll('#copies td.cell[tabindex=\"0\"]').length"), "one stop of the Tab key")

	// From the top, the Tab key comes to the choice of a cluster and to every pod.
	b.run(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	seen := map[string]bool{}
	for range 60 {
		b.run(chromedp.KeyEvent(kb.Tab))
		seen[b.focus()] = true
	}
	require.True(t, seen["cluster"])
	for i := range 9 {
		require.True(t, seen[fmt.Sprintf("pod/books-%d", i)], i)
	}
	require.Empty(t, b.said())
}

// TestRealBrowserOnAPhone checks that nothing is wider than the screen, what is wide scrolls by
// itself.
func TestRealBrowserOnAPhone(t *testing.T) {
	board, timelines := rolling(t)
	b := open(t, serve(t, board, timelines), 360, 740)
	require.LessOrEqual(t, eval[int](b, "document.scrollingElement.scrollWidth"), 360)
	require.NotZero(t, eval[int](b, "document.querySelectorAll('button.pod').length"))
	require.GreaterOrEqual(t, eval[int](b, "Math.min(...[...document.querySelectorAll('button.pod')].map((p) => p.offsetHeight))"), 40, "large enough for a thumb")
	b.screenshot("phone.png")
	require.Empty(t, b.said())
}

// TestRealBrowserChartsAreReadable checks that they are as wide as their place, also when that
// changes, and their text is as large as other small text. The picture in the documentation is this
// one.
func TestRealBrowserChartsAreReadable(t *testing.T) {
	board, timelines := rolling(t)
	board.Publish(webtest.Books(t, webtest.At(76), webtest.UpdatedTo(5), webtest.OnTheWay(1, model.PhaseSettling), webtest.OnTheWay(4, model.PhaseGone)))
	b := open(t, serve(t, board, timelines), 1280, 900)
	const charts = "[...document.querySelectorAll('svg.chart')]"
	fit := func(width int) {
		t.Helper()
		require.Equal(t, 2, eval[int](b, charts+".length"))
		require.True(t, eval[bool](b, charts+".every((c) => Math.abs(c.getBoundingClientRect().width - c.closest('section > div').clientWidth) < 20)"), width)
		require.True(t, eval[bool](b, charts+".every((c) => [...c.querySelectorAll('text, rect, path')].every((x) => x.getBoundingClientRect().right <= c.getBoundingClientRect().right + 1))"), width)
		for _, height := range eval[[]float64](b, "[...document.querySelectorAll('svg.chart text')].map((x) => x.getBoundingClientRect().height)") {
			require.InDelta(t, 14, height, 4, "pixels of a line, %d wide", width)
		}
	}
	fit(1280)
	b.screenshot("page.png")
	b.run(chromedp.EmulateViewport(360, 740))
	require.Eventually(t, func() bool { return eval[bool](b, charts+".every((c) => c.width.baseVal.value < 360)") }, enough, 50*time.Millisecond)
	fit(360)
	require.Empty(t, b.said())
}

// TestRealBrowserReadsTextAsText checks that text is shown as text, whatever a database, a chart or
// an agent says.
func TestRealBrowserReadsTextAsText(t *testing.T) {
	const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	board, timelines := rolling(t, func(s *model.Snapshot) {
		s.Groups[0].ID = evil
		s.Groups[0].Members[0].State = model.MemberDown
		s.Pods[2].Report.Veto = evil
		s.Pods[3].Report.Roles = []string{evil}
		s.Health.Verdict, s.Health.Reason = model.VerdictYellow, evil
		s.Nodes[0].Zone = evil
	})
	b := open(t, serve(t, board, timelines), 1280, 900)
	for _, part := range []string{"#now", "#pods", "#copies", "#plan"} {
		require.Contains(t, b.text(part), "<img src=x", part)
	}
	require.Zero(t, eval[int](b, "document.querySelectorAll('img').length"))
	require.Contains(t, eval[string](b, "document.title"), "books")
	// And what is not the page's own does not run, should it come in all the same.
	b.run(chromedp.Evaluate[chromedp.Void](`document.body.insertAdjacentHTML("beforeend", "<img src=x onerror=\"document.title='owned'\">")`), chromedp.Sleep(500*time.Millisecond))
	require.NotEqual(t, "owned", eval[string](b, "document.title"))
	require.NotEmpty(t, b.said(), "the policy of the page refuses it, and says so")
}
