// Package tool runs the programs of test/tools in tests.
package tool

import (
	"context"
	"os"
	"os/exec"
)

// Command is a program of test/tools, such as helm, that is run in the repository's root. It is built
// as the Makefile builds it, whatever the tests are built with, so that it is built once; promtool is
// built without the clouds that it could discover.
func Command(ctx context.Context, root, name string, args ...string) *exec.Cmd {
	module := "test/tools/" + name + "/go.mod"
	if name == "grpcurl" {
		module = "test/tools/go.mod"
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"tool", "-modfile=" + module, name}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -tags=remove_all_sd")
	return cmd
}
