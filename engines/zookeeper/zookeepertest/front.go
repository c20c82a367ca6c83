package zookeepertest

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// Front stands before a server's client port, and misbehaves when told to.
type Front struct {
	// Port is the port on the loopback address.
	Port int

	server string
	mu     sync.Mutex
	fault  enginetest.Fault
	open   map[net.Conn]bool
}

// NewFront stands before the address until the test ends.
func NewFront(t testing.TB, address string) *Front {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &Front{Port: l.Addr().(*net.TCPAddr).Port, server: address, open: map[net.Conn]bool{}}
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
				f.serve(c)
			}()
		}
	})
	<-begun
	t.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
	})
	return f
}

// Set makes it misbehave so, and breaks what is open.
func (f *Front) Set(fault enginetest.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
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

func (f *Front) serve(c net.Conn) {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	say := func(text string) {
		if _, err := io.ReadFull(c, make([]byte, 4)); err == nil {
			_, _ = io.WriteString(c, text)
		}
	}
	switch fault {
	case enginetest.Healthy:
		f.pass(c, 1<<40)
	case enginetest.Gone:
	case enginetest.Hung:
		_, _ = io.Copy(io.Discard, c)
	case enginetest.Garbage:
		say("\x00\x01\xfe{]not what was asked for\n")
	case enginetest.Endless:
		for _, err := io.ReadFull(c, make([]byte, 4)); err == nil; {
			_, err = io.WriteString(c, strings.Repeat("zk_version\t3.9.4\n", 1000))
		}
	case enginetest.Truncated:
		f.pass(c, 100)
	case enginetest.WrongServer:
		say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
	case enginetest.Denied:
		say("ruok is not executed because it is not in the whitelist.\n")
	case enginetest.Failing:
		say("This ZooKeeper instance is not currently serving requests\n")
	}
}

// pass lets some bytes of the answer through.
func (f *Front) pass(c net.Conn, bytes int64) {
	to, err := net.Dial("tcp", f.server)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, c)
		_ = to.Close()
	}()
	_, _ = io.CopyN(c, to, bytes)
}
