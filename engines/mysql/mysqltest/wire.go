package mysqltest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Listen is a server that does with each connection what serve does, until the test ends.
func Listen(t testing.TB, serve func(c net.Conn)) (port int) {
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
	return l.Addr().(*net.TCPAddr).Port
}

// Wire speaks as much of the protocol as the client needs to ask something.
type Wire struct {
	net.Conn
	in *bufio.Reader
	// Seq is the number of the next packet.
	Seq byte
}

func (w *Wire) Send(payload []byte) error {
	head := []byte{byte(len(payload)), byte(len(payload) >> 8), byte(len(payload) >> 16), w.Seq}
	w.Seq++
	_, err := w.Write(append(head, payload...))
	return err
}

func (w *Wire) receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return nil, err
	}
	w.Seq = head[3] + 1
	payload := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err := io.ReadFull(w.in, payload)
	return payload, err
}

// Text returns the text of a cell.
func Text(s string) []byte { return append([]byte{byte(len(s))}, s...) }

// Fail is the refusal of a statement.
func Fail(number uint16, words string) []byte {
	return append(append(binary.LittleEndian.AppendUint16([]byte{0xff}, number), "#HY000"...), words...)
}

// Okay and EOF end answers.
var (
	Okay = []byte{0, 0, 0, 2, 0, 0, 0}
	EOF  = []byte{0xfe, 0, 0, 2, 0}
)

// Columns begin an answer.
func (w *Wire) Columns(names ...string) error {
	if err := w.Send([]byte{byte(len(names))}); err != nil {
		return err
	}
	for _, n := range names {
		def := append(append(append([]byte{}, Text("def")...), 0, 0, 0), Text(n)...)
		def = append(append(def, Text(n)...), 0x0c, 33, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0)
		if err := w.Send(def); err != nil {
			return err
		}
	}
	return w.Send(EOF)
}

// Speaking greets anybody and hands each question to answer.
func Speaking(answer func(w *Wire, question string) error) func(c net.Conn) {
	return func(c net.Conn) {
		w := &Wire{Conn: c, in: bufio.NewReader(c)}
		greeting := append([]byte{10}, "9.9.9\x00"...)
		greeting = append(greeting, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x00, 0xa2, 33, 2, 0, 0x08, 0x00, 21)
		greeting = append(append(greeting, make([]byte, 10)...), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0)
		greeting = append(greeting, "mysql_native_password\x00"...)
		if w.Send(greeting) != nil {
			return
		}
		if _, err := w.receive(); err != nil || w.Send(Okay) != nil {
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

// AnswerOne is an answer of one column and row.
func (w *Wire) AnswerOne(column, value string) error {
	if err := w.Columns(column); err != nil {
		return err
	}
	if err := w.Send(Text(value)); err != nil {
		return err
	}
	return w.Send(EOF)
}

// Refuse returns each connection with an error instead of a greeting.
func Refuse(number uint16, words string) func(c net.Conn) {
	return func(c net.Conn) { _ = (&Wire{Conn: c}).Send(Fail(number, words)) }
}
