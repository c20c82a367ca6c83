package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"time"

	"github.com/chromedp/chromedp"
)

// ErrNoBrowser says that there is no Chromium.
var ErrNoBrowser = errors.New("no Chromium is installed")

// crowded names what sticks out of its panel or is cut off, and panels that lie on each other.
const crowded = `(() => {
  const out = [], panels = [...document.querySelectorAll("section")], box = (e) => e.getBoundingClientRect();
  panels.forEach((p, i) => {
    const title = p.querySelector("h2").innerText, room = box(p);
    for (const e of p.querySelectorAll("h2, svg text, .key, td, b"))
      if (e.textContent && (box(e).right > room.right + 1 || box(e).left < room.left - 1 || box(e).bottom > room.bottom + 1)) out.push(title + ": " + e.textContent);
    for (const e of p.querySelectorAll("h2, .legend")) if (e.scrollHeight > e.clientHeight + 2 || e.scrollWidth > e.clientWidth + 2) out.push(title + ": cut off: " + e.textContent);
    for (const q of panels.slice(0, i)) { const a = box(q);
      if (a.left < room.right && room.left < a.right && a.top < room.bottom && room.top < a.bottom) out.push(title + " lies on " + q.querySelector("h2").innerText); }
  });
  return out;
})()`

// Picture is a page as Chromium shows it, in at most 256 colors, and what has not
// enough room on it; height 0 is all of it.
func Picture(ctx context.Context, page []byte, height int) (picture []byte, problems []string, err error) {
	program := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		return nil, nil, ErrNoBrowser
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(page)
	}))
	defer server.Close()
	allocator, cancel := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))...)
	defer cancel()
	browser, cancel := chromedp.NewContext(allocator)
	defer cancel()
	browser, cancel = context.WithTimeout(browser, 2*time.Minute)
	defer cancel()
	if err := chromedp.Do(browser, chromedp.EmulateViewport(pageWidth, 900), chromedp.Navigate(server.URL), chromedp.WaitVisible(chromedp.CSS("main"))); err != nil {
		return nil, nil, fmt.Errorf("the page in Chromium: %w", err)
	}
	if problems, err = chromedp.Run(browser, chromedp.Evaluate[[]string](crowded)); err != nil {
		return nil, nil, fmt.Errorf("the page in Chromium: %w", err)
	}
	shot, err := chromedp.Run(browser, chromedp.FullScreenshot(100))
	if err != nil {
		return nil, nil, fmt.Errorf("the picture: %w", err)
	}
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, nil, err
	}
	bounds := full.Bounds()
	if height > 0 {
		bounds.Max.Y = min(bounds.Max.Y, height)
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduce(full, bounds))
	return out.Bytes(), problems, err
}

// reduce takes the most frequent colors, and for the many between them, of letters'
// edges and of areas one can see through, the most frequent of a coarse grid.
func reduce(full image.Image, bounds image.Rectangle) image.Image {
	exact, coarse := map[color.RGBA]int{}, map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(x, y)
			exact[c]++
			coarse[color.RGBA{c.R&^15 + 8, c.G&^15 + 8, c.B&^15 + 8, 255}]++
		}
	}
	var palette color.Palette
	take := func(counts map[color.RGBA]int, n int) {
		frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
			return cmp.Or(counts[b]-counts[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
		})
		for _, c := range frequent[:min(n, len(frequent))] {
			palette = append(palette, c)
		}
	}
	take(exact, 64)
	take(coarse, 192)
	out := image.NewPaletted(bounds, palette)
	nearest := map[color.RGBA]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(x, y)
			i, known := nearest[c]
			if !known {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	return out
}
