package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/cmd/printable"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
)

// TestDocumentsEscapeWhatSteersATerminal checks that the output of -o is complete, and has no
// character that controls a terminal.
func TestDocumentsEscapeWhatSteersATerminal(t *testing.T) {
	var all []rune
	for r := rune(1); r < 0x2100; r++ {
		if printable.Steers(r) {
			all = append(all, r)
		}
	}
	for _, text := range []string{
		"plain", string(all), "one \u202eevil\u202c two", "\u2066", "\x01\u202e\x01\x01\u2067", "lines\n\u202e\nof it\n", "\x7f", "\u0085", "\u2028", "a\n\u2029\nb",
		`\u202e`, `\x01é`, "\x1b]0;x\a \u009b31m",
	} {
		data, err := json.Marshal(map[string]string{"text": text, text: "key"})
		require.NoError(t, err)
		for _, f := range []cli.Format{cli.JSON, cli.YAML} {
			out, err := cli.Rendered(f, data)
			require.NoError(t, err)
			var got map[string]string
			shown := string(out)
			if f == cli.JSON { // the writer does the rest
				shown = screen(string(out))
			}
			require.NoError(t, yaml.Unmarshal([]byte(shown), &got), "%s", shown)
			require.Equal(t, map[string]string{"text": text, text: "key"}, got, "%s", shown)
			require.Equal(t, shown, screen(shown), "%s of %q", f, text)
		}
	}
	out, err := cli.Rendered(cli.YAML, []byte(`{"text": "\u202E \\u202e"}`))
	require.NoError(t, err)
	require.Equal(t, `text: "\u202e \\u202e"`+"\n", string(out), "what another encoder escaped")
}
