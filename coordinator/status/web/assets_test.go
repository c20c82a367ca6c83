package web

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func eachAsset(t *testing.T, f func(name, text string)) {
	t.Helper()
	n := 0
	require.NoError(t, fs.WalkDir(assets, "assets", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := assets.ReadFile(path)
		n++
		f(strings.TrimPrefix(path, "assets/"), string(data))
		return err
	}))
	require.Greater(t, n, 5)
}

var (
	elsewhere  = regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}`)
	inline     = regexp.MustCompile(`(?i)\sstyle="|\son[a-z]+="|<style|<script>|javascript:`)
	readAsHTML = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser`)
	named      = regexp.MustCompile(`(?:from |href=|src=)"(\./)?([a-z]+\.(?:js|css|svg))"`)
)

// Nothing is loaded from another host, nothing is inline, and no text is ever read as HTML.
func TestThePageNeedsNobodyElse(t *testing.T) {
	eachAsset(t, func(name, text string) {
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "") // a name, not a place
		require.NotRegexp(t, elsewhere, text, name)
		require.NotRegexp(t, readAsHTML, text, name)
		if strings.HasSuffix(name, ".html") {
			require.NotRegexp(t, inline, text, name)
		}
	})
}

// TestEveryFileOfThePageIsThere, and none is there for nothing.
func TestEveryFileOfThePageIsThere(t *testing.T) {
	there, wanted := map[string]bool{"index.html": true}, map[string]bool{"index.html": true}
	eachAsset(t, func(name, text string) {
		there[name] = true
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			wanted[m[2]] = true
		}
	})
	require.Equal(t, wanted, there)
}
