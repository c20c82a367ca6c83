// Command rollcall shows what Rollcall does to database clusters and why, and
// lets people steer it. Installed as kubectl-rollcall it is a kubectl plugin.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func main() { os.Exit(rollcall()) }

// rollcall runs the program and returns its exit status.
func rollcall() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	return run(ctx, os.Args, streams)
}

// Exit statuses. Those of status --wait and of plan --snapshot are part of the
// program's contract.
const (
	exitDone         = 0
	exitFailed       = 1
	exitNotASnapshot = 2
	exitStalled      = 2
	exitTimedOut     = 3
)

// exitError ends the program with a status of its own.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	name := "rollcall"
	if strings.HasPrefix(filepath.Base(args[0]), "kubectl-") {
		name = "kubectl rollcall"
	}
	root := newRoot(name, streams)
	root.SetArgs(args[1:])
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	text := err.Error()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	fmt.Fprintf(streams.ErrOut, "error: %s\n", text)
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.status
	}
	return exitFailed
}
