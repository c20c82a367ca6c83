package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Inside dials as a program on the node of the local cluster does: there the addresses of Services
// lead somewhere. The host itself has no kube-proxy.
func (b *Bed) Inside(node string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		// A thread in the namespace of a node must not run anything else, and ends with its goroutine
		// unless it finds the way back.
		type dialed struct {
			conn net.Conn
			err  error
		}
		result := make(chan dialed, 1)
		go func() {
			runtime.LockOSThread()
			home, err := b.enter(node)
			if err != nil {
				result <- dialed{err: err}
				return
			}
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back == nil {
				runtime.UnlockOSThread()
			}
			_ = home.Close()
			result <- dialed{conn, err}
		}()
		d := <-result
		return d.conn, d.err
	}
}

// enter moves the thread into the node's network namespace, and returns the one it came from.
func (b *Bed) enter(node string) (home *os.File, err error) {
	inside, err := b.namespace(node)
	if err != nil {
		return nil, err
	}
	if home, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		return nil, err
	}
	there, err := os.Open(inside)
	if err == nil {
		err = unix.Setns(int(there.Fd()), unix.CLONE_NEWNET)
		_ = there.Close()
	}
	if err != nil {
		_ = home.Close()
		return nil, fmt.Errorf("network namespace of %s: %w", node, err)
	}
	return home, nil
}

// namespace is the file of the node's network namespace. Its name has the number of the cluster in
// it, because several may run on one host.
func (b *Bed) namespace(node string) (string, error) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(b.Kubeconfig), "cluster.json"))
	if err != nil {
		return "", err
	}
	var cluster struct{ Instance int }
	if err := json.Unmarshal(text, &cluster); err != nil {
		return "", err
	}
	return fmt.Sprintf("/run/netns/rollcall%d-%s", cluster.Instance, node), nil
}
