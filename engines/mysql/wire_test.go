package mysql

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listen is a server that does what serve does with each connection.
func listen(t *testing.T, serve func(c net.Conn)) Options {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
	})
	return Options{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, Timeout: time.Minute}
}

// wire speaks as much of the protocol as the client needs to ask something.
type wire struct {
	net.Conn
	in  *bufio.Reader
	seq byte
}

func (w *wire) send(payload []byte) error {
	head := []byte{byte(len(payload)), byte(len(payload) >> 8), byte(len(payload) >> 16), w.seq}
	w.seq++
	_, err := w.Write(append(head, payload...))
	return err
}

func (w *wire) receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return nil, err
	}
	w.seq = head[3] + 1
	payload := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err := io.ReadFull(w.in, payload)
	return payload, err
}

func text(s string) []byte { return append([]byte{byte(len(s))}, s...) }

func fail(number uint16, words string) []byte {
	return append(append(binary.LittleEndian.AppendUint16([]byte{0xff}, number), "#HY000"...), words...)
}

var (
	okay = []byte{0, 0, 0, 2, 0, 0, 0}
	eof  = []byte{0xfe, 0, 0, 2, 0}
)

// columns begins an answer.
func (w *wire) columns(names ...string) error {
	if err := w.send([]byte{byte(len(names))}); err != nil {
		return err
	}
	for _, n := range names {
		def := append(append(append([]byte{}, text("def")...), 0, 0, 0), text(n)...)
		def = append(append(def, text(n)...), 0x0c, 33, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0)
		if err := w.send(def); err != nil {
			return err
		}
	}
	return w.send(eof)
}

// speaking greets anybody and hands each question to answer.
func speaking(answer func(w *wire, question string) error) func(c net.Conn) {
	return func(c net.Conn) {
		w := &wire{Conn: c, in: bufio.NewReader(c)}
		greeting := append([]byte{10}, "9.9.9\x00"...)
		greeting = append(greeting, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x00, 0xa2, 33, 2, 0, 0x08, 0x00, 21)
		greeting = append(append(greeting, make([]byte, 10)...), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0)
		greeting = append(greeting, "mysql_native_password\x00"...)
		if w.send(greeting) != nil {
			return
		}
		if _, err := w.receive(); err != nil || w.send(okay) != nil {
			return
		}
		for {
			q, err := w.receive()
			if err != nil || len(q) == 0 || q[0] == 1 || answer(w, string(q[1:])) != nil {
				return
			}
		}
	}
}
