// Command cmd writes the table of licences and the notices that images carry. Run it in
// test/licences, as test/generate.sh does.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/test/licences"
)

// root is the checkout.
const root = "../.."

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	modules, err := licences.Linked(ctx, root)
	if err != nil {
		return err
	}
	files, err := licences.Files(modules)
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
