package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/client"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// runControl orders something of a world, and prints what there is.
func runControl(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fdbsim control", flag.ContinueOnError)
	at := flags.String("world", os.Getenv(WorldVariable), "host:port of the world")
	fault := flags.String("fault", "", "what fdbcli calls meet: none, hang, garbage, ...")
	instance := flags.String("on", "", "only calls over this process")
	scale := flags.Float64("scale", -1, "virtual seconds in a real one from now on")
	advance := flags.Duration("advance", 0, "virtual time to let go by")
	messages := flags.String("messages", "", "of cluster.messages from now on; none for no message")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c := wire.Command{Op: wire.Look, Instance: *instance, Advance: advance.Seconds()}
	var faults wire.Fault
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "fault":
			c.Op, faults = wire.Order, wire.Fault(*fault)
		case "scale":
			c.Op, c.Scale = wire.Order, scale
		case "advance":
			c.Op = wire.Order
		case "messages":
			c.Op, c.Message = wire.Order, true
			if *messages != "none" {
				c.Messages = strings.Split(*messages, ",")
			}
		}
	})
	if faults == "none" {
		faults = wire.None
	}
	if faults != wire.None && !slices.Contains(wire.Faults, faults) {
		return fmt.Errorf("fdbsim control: there is no fault %q: want one of %v", faults, wire.Faults)
	}
	c.Fault = faults
	var view wire.View
	if err := wire.Post(ctx, wire.NewClient(), *at, wire.PathControl, c, &view); err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(view)
}

// runClient writes and reads until the context ends, and fails when something acknowledged is missing.
func runClient(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fdbsim client", flag.ContinueOnError)
	file := flags.String("C", "fdb.cluster", "cluster file")
	keys := flags.Int("keys", 100, "that are written by turns")
	pause := flags.Duration("pause", 50*time.Millisecond, "between two operations")
	patience := flags.Duration("patience", 10*time.Second, "for how long an operation is tried before it counts as failed")
	report := flags.Duration("report", 0, "print what happened so far this often; 0: only at the end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := client.New(client.Options{ClusterFile: *file, Keys: *keys, Pause: *pause, Patience: *patience})
	if err != nil {
		return err
	}
	stats := c.Run(ctx, *report, func(s client.Stats) { fmt.Println(s) })
	fmt.Println(stats)
	if stats.Lost > 0 {
		return errors.New("fdbsim client: acknowledged writes are lost")
	}
	return nil
}
