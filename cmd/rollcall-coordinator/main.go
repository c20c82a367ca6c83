// Command rollcall-coordinator runs beside others of its kind, of which one is
// elected; that one rolls changes through the database clusters. All of them
// serve the webhook, and answer gRPC and HTTP.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/rollcall-dev/rollcall/cmd/printable"
)

// collectPercent is how much garbage there may be beside what lives until it is collected. Most of what lives is facts of
// pods that hardly change: collecting them twice as often costs little, and the memory between collections is halved
// (deploy/docs/results.md).
const collectPercent = 50

// stderr is looked at on terminals, by kubectl logs, and has words of databases in it.
var stderr = printable.NewWriter(os.Stderr)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := newCommand()
	command.SetErr(stderr)
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		os.Exit(1)
	}
}
