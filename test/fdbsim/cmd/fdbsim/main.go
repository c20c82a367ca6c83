// Command fdbsim plays the programs of FoundationDB in tests, each by its name: fdbcli, fdbserver, and fdbsim for what no
// real cluster has. See DESIGN.md two folders up.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	if name == "fdbsim" && len(args) > 0 && (args[0] == "fdbcli" || args[0] == "fdbserver") {
		name, args = args[0], args[1:]
	}
	if strings.HasPrefix(name, "fdbcli") {
		os.Exit(fdbcli(args))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	var err error
	if strings.HasPrefix(name, "fdbserver") {
		err = fdbserver(ctx, args)
	} else {
		err = fdbsim(ctx, args)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
