package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/node"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// WorldVariable says where the world is.
const WorldVariable = "FDBSIM_WORLD"

// fdbserver reads the options of fdbserver that matter, and plays the process.
func fdbserver(ctx context.Context, args []string) error {
	o := node.Options{
		World: os.Getenv(WorldVariable), ClusterFile: "fdb.cluster", DataDir: ".", Beat: 500 * time.Millisecond,
		Log:    slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Member: wire.Member{Class: "unset", Version: defaultVersion, Command: "fdbserver " + strings.Join(args, " ")},
	}
	if v := os.Getenv(VersionVariable); v != "" {
		o.Member.Version = v
	}
	if err := serverOptions(args, &o); err != nil {
		return err
	}
	if o.World == "" || o.Member.Address == "" || o.Member.Instance == "" || o.Member.Zone == "" {
		return errors.New("fdbserver: want " + WorldVariable + ", --public_address, --locality_instance_id and --locality_zoneid")
	}
	if o.Listen == "" || o.Listen == "public" {
		o.Listen = o.Member.Address
	}
	if o.Member.Machine == "" {
		o.Member.Machine = o.Member.Instance
	}
	n, err := node.New(o)
	if err != nil {
		return err
	}
	return n.Run(ctx)
}

func serverOptions(args []string, o *node.Options) error {
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined {
			if len(args) == 0 {
				return fmt.Errorf("fdbserver: option %s has no value", name)
			}
			value, args = args[0], args[1:]
		}
		switch strings.ReplaceAll(name, "-", "_") {
		case "_C", "__cluster_file":
			o.ClusterFile = value
		case "_d", "__datadir":
			o.DataDir = value
		case "_c", "__class":
			o.Member.Class = value
		case "_p", "__public_address":
			if _, _, err := net.SplitHostPort(value); err != nil {
				return fmt.Errorf("fdbserver: --public_address %q: want IP:port", value)
			}
			o.Member.Address = value
		case "_l", "__listen_address":
			o.Listen = value
		case "__locality_instance_id":
			o.Member.Instance = value
		case "__locality_zoneid":
			o.Member.Zone = value
		case "__locality_machineid":
			o.Member.Machine = value
		case "__locality_dcid":
			o.Member.DC = value
		case "__locality_data_hall":
			o.Member.Hall = value
		case "__locality_dns_name":
			_, port, err := net.SplitHostPort(o.Member.Address)
			if err != nil {
				return errors.New("fdbserver: want --public_address before --locality_dns_name")
			}
			o.Member.Host = net.JoinHostPort(value, port)
		case "_L", "__logdir", "__knob_disable_posix_kernel_aio":
		default:
			return fmt.Errorf("fdbserver: option %s is not known to the simulation", name)
		}
	}
	return nil
}
