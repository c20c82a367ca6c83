// Command rollcall-coordinator is the coordinator. One of several replicas is elected leader, and
// rolls changes through the database clusters. All replicas serve the webhook, gRPC and HTTP.
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

// collectPercent is how much garbage may accumulate, relative to live memory, until it is
// collected. Most live memory is facts of pods that hardly change: collecting them twice as often
// costs little, and the memory between collections is halved (deploy/docs/results.md).
const collectPercent = 50

// stderr is shown on terminals, by kubectl logs, and contains text from databases.
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
