// Package node is a process of a simulated cluster: it listens where clients look for coordinators and passes on what they
// ask, keeps a mark on its volume, tells the world that it is there, and keeps a cluster file up to date.
package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// Options are the options of a process.
type Options struct {
	World       string // host:port
	Listen      string // host:port
	DataDir     string // the volume
	ClusterFile string
	Member      wire.Member // all but Volume, Incarnation and Op
	Beat        time.Duration
	Log         *slog.Logger
}

// Node is one run of a process.
type Node struct {
	opts   Options
	member wire.Member
	client *http.Client
	known  atomic.Bool
}

// New reads the mark of the volume, or makes one.
func New(opts Options) (*Node, error) {
	mark, err := volumeMark(opts.DataDir)
	if err != nil {
		return nil, err
	}
	n := &Node{opts: opts, member: opts.Member, client: wire.NewClient()}
	n.member.Volume, n.member.Incarnation = mark, identity()
	return n, nil
}

func identity() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// volumeMark identifies a volume.
func volumeMark(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "processId")
	data, err := os.ReadFile(file)
	if err == nil && len(data) > 0 {
		return strings.TrimSpace(string(data)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	mark := identity()
	if err := os.WriteFile(file+".next", []byte(mark+"\n"), 0o644); err != nil {
		return "", err
	}
	return mark, os.Rename(file+".next", file)
}

// Run serves until the context ends, and says goodbye then.
func (n *Node) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", n.opts.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: n.Handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	n.beat(ctx)
	n.known.Store(false)
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := n.tell(bye, wire.Leave); err != nil {
		n.opts.Log.Warn("the world does not know that this process ends", "error", err)
	}
	return errors.Join(server.Close(), ignoreClosed(<-served))
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// beat tells the world that the process is there, until the context ends.
func (n *Node) beat(ctx context.Context) {
	ticker := time.NewTicker(n.opts.Beat)
	defer ticker.Stop()
	op := wire.Join
	for {
		standing, err := n.tell(ctx, op)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			n.report(false)
		case !standing.Known:
			op = wire.Join
			n.report(false)
		default:
			op = wire.Beat
			n.report(true)
			n.keepFile(standing.Connection)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (n *Node) report(known bool) {
	if n.known.Swap(known) != known {
		n.opts.Log.Info("the world's knowledge of this process changed", "known", known)
	}
}

func (n *Node) keepFile(connection string) {
	if connection == "" {
		return
	}
	if err := wire.WriteClusterFile(n.opts.ClusterFile, connection); err != nil {
		n.opts.Log.Error("cluster file not written", "file", n.opts.ClusterFile, "error", err)
	}
}

func (n *Node) tell(ctx context.Context, op wire.Op) (wire.Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	message := n.member
	message.Op = op
	var standing wire.Standing
	err := wire.Post(ctx, n.client, n.opts.World, wire.PathMember, message, &standing)
	return standing, err
}

// Handler passes on what clients ask, and returns whether the process is up and known.
func (n *Node) Handler() http.Handler {
	return Front(n.known.Load, func(ctx context.Context, r wire.Request) (wire.Reply, error) {
		r.Via = n.member.Address
		var reply wire.Reply
		err := wire.Post(ctx, n.client, n.opts.World, wire.PathAsk, r, &reply)
		return reply, err
	})
}

// Front is what a process shows to clients.
func Front(ready func() bool, ask func(context.Context, wire.Request) (wire.Reply, error)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+wire.PathAsk, wire.Serve(ask))
	mux.HandleFunc("GET "+wire.PathReady, func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the cluster does not know this process", http.StatusServiceUnavailable)
			return
		}
	})
	return mux
}
