// Command rollcall shows what Rollcall does to database clusters and why, and
// lets people steer it. Installed as kubectl-rollcall it is a kubectl plugin.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/rollcall-dev/rollcall/cmd/printable"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/show"
)

func main() { os.Exit(rollcall()) }

// rollcall runs the program and returns its exit status.
func rollcall() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	logTo(os.Stderr)
	return run(ctx, os.Args, streams)
}

// logTo filters what libraries log, such as warnings of an API server.
func logTo(w io.Writer) {
	logs := printable.NewWriter(w)
	log.SetOutput(logs)
	klog.LogToStderr(false)
	klog.SetOutput(logs)
}

// run filters all output of the commands and of cobra, so that nothing can control the terminal.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	out, errOut := printable.NewWriter(streams.Out), printable.NewWriter(streams.ErrOut)
	defer out.Flush()
	defer errOut.Flush()
	streams.Out, streams.ErrOut = out, errOut
	name := "rollcall"
	if strings.HasPrefix(filepath.Base(args[0]), "kubectl-") {
		name = "kubectl rollcall"
	}
	root := newRoot(name, streams)
	root.SetArgs(completable(args[1:]))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return cli.ExitDone
	}
	text := err.Error()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	fmt.Fprintf(streams.ErrOut, "error: %s\n", text)
	if exit, ok := errors.AsType[*cli.ExitError](err); ok {
		return exit.Status
	}
	return cli.ExitFailed
}

// completable cleans the arguments of a completion request: cobra writes errors about them
// to the terminal without our filter.
func completable(args []string) []string {
	if len(args) == 0 || args[0] != cobra.ShellCompRequestCmd && args[0] != cobra.ShellCompNoDescRequestCmd {
		return args
	}
	cleaned := make([]string, len(args))
	for i, arg := range args {
		cleaned[i] = show.Clean(arg)
	}
	return cleaned
}
