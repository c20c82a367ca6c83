//go:build linux

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const picture = "deploy/docs/images/terminal.svg"

// The README's picture is what the program writes today.
func TestThePictureIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	want, err := record(t.Context(), root)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(root, picture))
	require.NoError(t, err)
	require.Equal(t, want, string(got), "%s is not what rollcall writes now: run test/generate.sh", picture)

	for d := xml.NewDecoder(strings.NewReader(want)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	for _, part := range []string{
		"<title ", "<desc ", "prefers-color-scheme: dark", "prefers-reduced-motion",
		`class="typed"`, `class="good"`, `class="waiting"`, `class="bad"`, "unblocked by",
	} {
		require.Contains(t, want, part)
	}
	require.NotContains(t, want, "\x1b")
	for l := range strings.SplitSeq(want, "\n") {
		require.NotRegexp(t, `href=|src=|<script|\son[a-z]+=`, l)
	}
}

func TestCutShowsParts(t *testing.T) {
	lines := strings.Fields("a b c d e f")
	for _, c := range []struct {
		parts [][2]string
		want  string
	}{
		{nil, "a b c d e f"},
		{[][2]string{{"a", "b"}}, "a b"},
		{[][2]string{{"b", "b"}, {"c", "d"}}, "b c d"},
		{[][2]string{{"a", "a"}, {"e", "f"}}, "a ... e f"},
	} {
		got, err := scene{parts: c.parts}.cut(lines)
		require.NoError(t, err)
		require.Equal(t, c.want, strings.Join(got, " "))
	}
	for _, parts := range [][][2]string{{{"x", "a"}}, {{"a", "x"}}, {{"c", "c"}, {"a", "a"}}} {
		_, err := scene{parts: parts}.cut(lines)
		require.Error(t, err)
	}
}

func TestReadTakesTheColour(t *testing.T) {
	require.Equal(t, line{{"go", ""}}, read("go"))
	require.Nil(t, read(""))
	require.Equal(t, line{{"go <now>", "good"}}, read("\x1b[32mgo <now>\x1b[0m"))
	require.Equal(t, line{{"pod ", ""}, {"Hold", "waiting"}, {" 1", ""}}, read("pod \x1b[33mHold\x1b[0m 1"))
	require.Contains(t, draw([]line{{{"a < b & c", ""}, {"d", "bad"}}}), `>a &lt; b &amp; c<tspan class="bad">d</tspan></text>`)
}
