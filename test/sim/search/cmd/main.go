// Command search tries all orders in which two leaders can act, and prints how
// many those are; then it plants bugs, and prints the shortest way to each. The
// exit status is 1 when something broke, or a bug was not found.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/rollcall-dev/rollcall/test/sim/search"
)

func main() {
	steps := flag.Int("steps", 12, "steps from the beginning")
	near := flag.Int("near", 4, "steps from every point of a restart")
	losses := flag.Int("losses", 0, "answers that may be lost on a path from there")
	flag.Parse()
	debug.SetGCPercent(400)
	failed := false
	for _, o := range []search.Options{
		{Steps: *steps, Terms: 1},
		{Steps: *near, Lead: 18, Terms: 2, Losses: *losses},
	} {
		r := search.Run(o)
		fmt.Printf("%d steps, up to %d ahead, %d answers lost: %s\n", o.Steps, o.Lead, o.Losses, r)
		failed = failed || r.Broken != ""
	}
	for _, bug := range search.Bugs {
		r := bug.Find()
		fmt.Printf("\nplanted: %s\n%s", bug.Name, r)
		failed = failed || r.Broken == ""
	}
	if failed {
		os.Exit(1)
	}
}
