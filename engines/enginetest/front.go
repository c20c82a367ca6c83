package enginetest

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Front accepts the connections of clients before a server, and counts them.
type Front struct {
	// Port is the port on the loopback address.
	Port int

	mu    sync.Mutex
	fault Fault
	open  map[net.Conn]bool
}

// Listen accepts connections until the test ends. serve is called for each, which is closed after it.
func (f *Front) Listen(t testing.TB, serve func(net.Conn)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.Port, f.open = l.Addr().(*net.TCPAddr).Port, map[net.Conn]bool{}
	var accepting sync.WaitGroup
	begun := make(chan struct{})
	accepting.Go(func() {
		close(begun)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.count(c, true)
			go func() {
				defer f.count(c, false)
				defer c.Close()
				serve(c)
			}()
		}
	})
	<-begun
	t.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
	})
}

// Set makes it misbehave so from the next question on.
func (f *Front) Set(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Fault is how it misbehaves.
func (f *Front) Fault() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// Break closes the connections of all clients.
func (f *Front) Break() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		_ = c.Close()
	}
}

// Open counts the connections of clients.
func (f *Front) Open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}

func (f *Front) count(c net.Conn, open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if open {
		f.open[c] = true
	} else {
		delete(f.open, c)
	}
}
