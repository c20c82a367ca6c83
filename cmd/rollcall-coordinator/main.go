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
)

// collectPercent is how much garbage there may be beside what lives until it is collected. Most of what lives is facts of
// pods that hardly change: collecting them twice as often costs little, and the memory between collections is halved
// (deploy/docs/results.md).
const collectPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
