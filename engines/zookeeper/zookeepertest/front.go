package zookeepertest

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// Front stands before a server's client port, and misbehaves when told to.
type Front struct {
	enginetest.Front
	server string
}

// NewFront stands before the address until the test ends.
func NewFront(t testing.TB, address string) *Front {
	f := &Front{server: address}
	f.Listen(t, f.serve)
	return f
}

// Set makes it misbehave so, and breaks what is open.
func (f *Front) Set(fault enginetest.Fault) {
	f.Front.Set(fault)
	f.Break()
}

func (f *Front) serve(c net.Conn) {
	say := func(text string) {
		if _, err := io.ReadFull(c, make([]byte, 4)); err == nil {
			_, _ = io.WriteString(c, text)
		}
	}
	switch f.Fault() {
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
