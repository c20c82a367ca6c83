package zookeepertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// Writer is a client that creates one node after the other, and tries again until the ensemble has
// acknowledged each.
type Writer struct {
	ensemble *Ensemble
	stop     context.CancelFunc
	ended    sync.WaitGroup

	acked, retried, failed int
	longest                time.Duration
}

// quiet logs nothing.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Connect connects a client to all servers, or to these.
func (e *Ensemble) Connect(servers ...*Server) *zk.Conn {
	e.t.Helper()
	if servers == nil {
		servers = e.Servers
	}
	var at []string
	for _, s := range servers {
		at = append(at, s.Address())
	}
	conn, _, err := zk.Connect(at, 4*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(e.Dial))
	require.NoError(e.t, err)
	e.t.Cleanup(conn.Close)
	return conn
}

const root = "/written"

// patience is after how long a write that is not acknowledged counts as failed.
const patience = 20 * time.Second

// Write writes until Complete is called.
func (e *Ensemble) Write() *Writer {
	conn := e.Connect()
	_, err := conn.Create(root, nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(e.t, err)
	ctx, stop := context.WithCancel(context.Background())
	w := &Writer{ensemble: e, stop: stop}
	w.ended.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			w.write(conn, n)
			time.Sleep(5 * time.Millisecond)
		}
	})
	e.t.Cleanup(w.end)
	return w
}

func (w *Writer) write(conn *zk.Conn, n int) {
	begun := time.Now()
	for {
		_, err := conn.Create(fmt.Sprintf("%s/%d", root, n), nil, 0, zk.WorldACL(zk.PermAll))
		took := time.Since(begun)
		w.longest = max(w.longest, took)
		switch {
		case err == nil, errors.Is(err, zk.ErrNodeExists): // of an attempt whose answer was lost
			w.acked++
			return
		case took > patience:
			w.failed++
			return
		}
		w.retried++
		time.Sleep(20 * time.Millisecond)
	}
}

func (w *Writer) end() {
	w.stop()
	w.ended.Wait()
}

// Complete ends the writer, and requires that no write has failed and that each server has all that
// was acknowledged.
func (w *Writer) Complete() {
	e := w.ensemble
	e.t.Helper()
	w.end()
	e.t.Logf("%d writes were acknowledged, of those %d retried, %d failed; the longest took %s", w.acked, w.retried, w.failed, w.longest.Round(time.Millisecond))
	require.NotZero(e.t, w.acked)
	require.Zero(e.t, w.failed)
	for _, s := range e.Servers {
		conn := e.Connect(s)
		_, err := conn.Sync(root)
		require.NoError(e.t, err)
		names, _, err := conn.Children(root)
		require.NoError(e.t, err)
		lost := 0
		for n := range w.acked {
			if !slices.Contains(names, strconv.Itoa(n)) {
				lost++
			}
		}
		require.Zero(e.t, lost, "server.%d has lost acknowledged writes", s.ID)
		conn.Close()
	}
}
