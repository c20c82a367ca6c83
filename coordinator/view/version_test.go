package view

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"9.10.0": "9.10.0", "v2.19.1": "2.19.1", "9.10.0-slim": "9.10.0", "10.11.6-MariaDB": "10.11.6",
		"8.0.36_1": "8.0.36",
		// Not a version: a moving tag, a date of four parts, a word.
		"9.10": "", "9": "", "9.10.": "", "9..1": "", "9.10.1234567": "", "9.10.123456": "9.10.123456", "latest": "", "": "", "1.2.3.4": "", "rc-9.10.0": "",
	} {
		got := ""
		if v := numbers(text); v != nil {
			got = v.String()
		}
		require.Equal(t, want, got, text)
	}
}
