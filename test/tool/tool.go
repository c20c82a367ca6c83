// Package tool runs the programs of test/tools in tests.
package tool

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// Command is a program of test/tools, such as helm, that is run in the repository's root: that in bin,
// where make built it from the module as it is, or else one that the go command builds, as the
// Makefile does, whatever the tests are built with. promtool is built without the clouds that it could
// discover.
func Command(ctx context.Context, root, name string, args ...string) *exec.Cmd {
	module := "test/tools/" + name + "/go.mod"
	if name == "grpcurl" {
		module = "test/tools/go.mod"
	}
	command := []string{"go", "tool", "-modfile=" + module, name}
	if current(filepath.Join(root, "bin", name), filepath.Join(root, module)) {
		command = []string{"bin/" + name}
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -tags=remove_all_sd")
	return cmd
}

// current reports whether make would leave the program as it is.
func current(program, module string) bool {
	built, err := os.Stat(program)
	if err != nil {
		return false
	}
	pinned, err := os.Stat(module)
	return err == nil && !pinned.ModTime().After(built.ModTime())
}
