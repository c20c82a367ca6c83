package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// bomb is a YAML document of a few hundred bytes that is billions of values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	return b.String()
}

// TestBombsAreRefused checks that a document that says the same over and over, or nests without
// end, is no snapshot and no manifest, and finding that out costs little.
func TestBombsAreRefused(t *testing.T) {
	set := "apiVersion: apps/v1\nkind: StatefulSet\n"
	merge := "a0: &a0 {k: v}\n"
	for i := 1; i < 200; i++ {
		merge += fmt.Sprintf("a%d: &a%d {<<: [*a%d, *a%d], k%d: v}\n", i, i, i-1, i-1, i)
	}
	for name, text := range map[string]string{
		"aliases":      bomb(),
		"merges":       merge,
		"itself":       "a: &a [*a]\n",
		"deep flow":    "a: " + strings.Repeat("[", 100_000),
		"deep objects": "a: " + strings.Repeat("{a: ", 50_000),
		"deep block":   strings.Repeat("- ", 50_000) + "a\n",
		"deep JSON":    `{"a":` + strings.Repeat("[", 1_000_000),
		"whole deep":   `{"a":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			for what, read := range map[string]func() error{
				"snapshot": func() error {
					a := &cli.App{}
					file := filepath.Join(t.TempDir(), "file")
					require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
					return a.ReadDocument(file, "snapshot", func(json []byte) error { _, err := model.Decode(json); return err })
				},
				"manifest": func() error { _, err := doctor.Manifest([]byte(set + text)); return err },
			} {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				err := read()
				runtime.ReadMemStats(&after)
				require.Error(t, err, what)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), what)
			}
		})
	}
}
