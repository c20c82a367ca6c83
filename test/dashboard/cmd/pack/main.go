// Command pack makes a block of Prometheus from a recording of scrapes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/rollcall-dev/rollcall/test/dashboard"
)

func main() {
	var p dashboard.Packing
	flag.StringVar(&p.Recording, "recording", "", "file that a run with ROLLCALL_RECORD has left")
	flag.StringVar(&p.Dir, "dir", "", "directory for the block")
	flag.DurationVar(&p.Every, "every", 5*time.Second, "interval of the scrapes that are kept")
	flag.DurationVar(&p.From, "from", 0, "what is left out at the beginning")
	flag.DurationVar(&p.To, "to", 0, "how long after the recording's beginning it ends (0: all)")
	flag.Parse()
	if err := dashboard.Pack(context.Background(), p); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}
