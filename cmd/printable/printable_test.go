package printable

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func written(parts ...string) string {
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, part := range parts {
		_, _ = w.Write([]byte(part))
	}
	w.Flush()
	return out.String()
}

func TestWriter(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"plain\tand\nlines é 世 🙂":    "plain\tand\nlines é 世 🙂",
		"\x1b[2J":                    `\u001b[2J`,
		"\x1b]0;title\a":             `\u001b]0;title\u0007`,
		"\u009b31m":                  `\u009b31m`,
		"\x9b31m":                    "\ufffd31m",
		"over\rwritten":              `over\u000dwritten`,
		"a\x00b\x7fc":                `a\u0000b\u007fc`,
		"\u202eevil\u202c \u2066x":   `\u202eevil\u202c \u2066x`,
		"a\u2028b\u061c\u200f":       `a\u2028b\u061c\u200f`,
		"\xe2\x80":                   "\ufffd",
		Escape + "[31m\x1b" + Escape: "\x1b[31m\\u001b\x1b",
		Escape[:5] + "[31m":          `\u0000` + Escape[1:5] + "[31m",
	} {
		require.Equal(t, want, written(in), "%q", in)
	}
	require.Equal(t, "世"+`\u202e`, written("\xe4", "\xb8\x96\xe2", "\x80", "\xae"), "runes that come in parts")
	require.Same(t, os.Stdout, NewWriter(os.Stdout).Unwrap())

	wrong := errors.New("full")
	_, err := NewWriter(failing{wrong}).Write([]byte("x"))
	require.ErrorIs(t, err, wrong)
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

// The local cluster is a module of its own.
func TestLocalClusterHasTheSame(t *testing.T) {
	here, err := os.ReadFile("printable.go")
	require.NoError(t, err)
	there, err := os.ReadFile("../../test/cluster/printable/printable.go")
	require.NoError(t, err)
	require.Equal(t, string(here), string(there))
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte("\x1b[2J\x9b\u202e\r\n"), 3)
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		at = min(max(at, 0), len(in))
		out := written(string(in[:at]), string(in[at:]))
		require.True(t, utf8.ValidString(out))
		for _, r := range out {
			require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t', "%q", out)
			require.False(t, Steers(r), "%q", out)
		}
		// JSON stays the JSON that it was, but for a carriage return between its values,
		// which no encoder writes.
		var want, got any
		if utf8.Valid(in) && !bytes.ContainsRune(in, '\r') && json.Unmarshal(in, &want) == nil {
			require.NoError(t, json.Unmarshal([]byte(out), &got), "%s", out)
			require.Equal(t, want, got)
		}
	})
}
