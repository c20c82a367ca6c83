package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
	"github.com/rollcall-dev/rollcall/test/fdbsim/world"
)

// fdbsim is what no real cluster has.
func fdbsim(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("fdbsim: want world, client, control or install")
	}
	run, known := map[string]func(context.Context, []string) error{
		"world": runWorld, "client": runClient, "control": runControl, "install": install,
	}[args[0]]
	if !known {
		return fmt.Errorf("fdbsim: there is no %q: want world, client, control or install", args[0])
	}
	return run(ctx, args[1:])
}

func runWorld(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fdbsim world", flag.ContinueOnError)
	listen := flags.String("listen", ":4400", "where processes find the world")
	state := flags.String("state", "", "file that keeps the world over its own restarts")
	redundancy := flags.String("redundancy", "double", "single, double, triple or three_data_hall")
	version := flags.String("version", defaultVersion, "of the cluster until most coordinators run another")
	expect := flags.Int("expect", 9, "processes that must be there before the database is made")
	coordinators := flags.Int("coordinators", 3, "that are made then")
	scale := flags.Float64("scale", 1, "virtual seconds in a real one")
	silence := flags.Duration("silence", 3*time.Second, "after which a process counts as gone that says nothing")
	shard := flags.Int64("shard-bytes", 100<<20, "size of each of the 24 shards")
	pace := model.DefaultPace
	paceFlags(flags, &pace)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := model.Redundancy(*redundancy).Valid(); err != nil {
		return err
	}
	if _, err := model.ParseVersion(*version); err != nil {
		return err
	}
	var cluster *model.Cluster
	if *state != "" {
		var err error
		if cluster, err = world.Load(*state); err != nil {
			return err
		}
	}
	if cluster == nil {
		cluster = model.Empty(model.Spec{Version: *version, Redundancy: model.Redundancy(*redundancy), ShardBytes: *shard})
	}
	cluster.Pace = pace
	w := world.New(cluster, world.Options{Scale: *scale, Silence: *silence, Expect: *expect, Coordinators: *coordinators})
	return serve(ctx, w, *listen, *state)
}

// paceFlags shorten what takes a real cluster a minute, in real time, so that uptimes stay true.
func paceFlags(flags *flag.FlagSet, pace *model.Pace) {
	for name, f := range map[string]struct {
		value *time.Duration
		usage string
	}{
		"heal":         {&pace.Heal, "until a storage server that is unavailable counts as failed"},
		"initialize":   {&pace.Initialize, "until a data distributor that has just begun works"},
		"look":         {&pace.Look, "between two reports of the data distributor"},
		"enlist":       {&pace.Enlist, "until a process that could be a storage server becomes one"},
		"status-delay": {&pace.StatusDelay, "how much later a status comes while a recovery is under way"},
	} {
		flags.DurationVar(f.value, name, *f.value, f.usage)
	}
}

// serve serves the world until the context ends, and writes it down now and then.
func serve(ctx context.Context, w *world.World, listen, state string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: w.Handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	save := func() error {
		if state == "" {
			return nil
		}
		return w.Save(state)
	}
	for {
		select {
		case <-ctx.Done():
			err := server.Close()
			<-served
			return errors.Join(err, save())
		case err := <-served:
			return err
		case <-ticker.C:
			if err := save(); err != nil {
				return errors.Join(err, server.Close())
			}
		}
	}
}

// install copies the program as fdbcli into a folder that containers share, by its version and by that name alone, and a first
// cluster file.
func install(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("fdbsim install", flag.ContinueOnError)
	dir := flags.String("dir", "/var/fdb", "folder that containers share")
	coordinators := flags.String("coordinators", "", "host:port,host:port of the first cluster file")
	connection := flags.String("connection", "", "the line of the cluster file of a database that there is, instead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	line := cmp.Or(*connection, "fdb:new@"+strings.TrimSpace(*coordinators))
	if _, err := wire.ParseConnection(line); err != nil {
		return fmt.Errorf("fdbsim install: -connection %q, -coordinators %q: want description:id@host:port,host:port, or only its last part", *connection, *coordinators)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	version := os.Getenv(VersionVariable)
	if version == "" {
		version = defaultVersion
	}
	folder := filepath.Join(*dir, "bin", version)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	program := filepath.Join(folder, "fdbcli")
	if err := copyFile(self, program); err != nil {
		return err
	}
	link := filepath.Join(*dir, "fdbcli")
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(filepath.Join("bin", version, "fdbcli"), link); err != nil {
		return err
	}
	file := filepath.Join(*dir, "fdb.cluster")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return wire.WriteClusterFile(file, line)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to+".next", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(to+".next", to)
}
