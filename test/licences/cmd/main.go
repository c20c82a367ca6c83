// Command cmd writes the table of licences and the notices that images carry; test/generate.sh runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/test/licences"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	modules, err := licences.Linked(ctx, ".")
	if err != nil {
		return err
	}
	files, err := licences.Files(modules)
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
