package mysqltest

import (
	"encoding/binary"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// Front stands before a server and misbehaves when told to. It reads the protocol as
// far as it must, so clients must not use TLS.
type Front struct {
	enginetest.Front
	// Allowed reports whether one more change may be made. Nil means all.
	Allowed func() bool
	// Secret is repeated by a server that does not accept it.
	Secret string

	server string
}

// NewFront stands before the server until the test ends.
func NewFront(t testing.TB, server *Server) *Front {
	f := &Front{server: server.Address()}
	f.Listen(t, f.serve)
	return f
}

// serve passes a session on. What a client sends is looked at packet by packet; what
// the server answers is not, but that it may be cut off.
func (f *Front) serve(client net.Conn) {
	if f.Fault() == enginetest.Garbage || f.Fault() == enginetest.Endless || f.Fault() == enginetest.Hung || f.Fault() == enginetest.Gone {
		f.misbehave(client, nil, 0)
		return
	}
	server, err := net.Dial("tcp", f.server)
	if err != nil {
		return
	}
	defer server.Close()
	answers := &cut{Conn: server}
	go func() {
		_, _ = io.Copy(client, answers)
		_ = client.Close()
		_ = server.Close()
	}()
	for {
		seq, packet, err := receive(client)
		if err != nil {
			return
		}
		if fault := f.Fault(); fault == enginetest.Truncated && seq == 0 {
			answers.next()
		} else if fault != enginetest.Healthy && fault != enginetest.Truncated && (seq == 0 || fault == enginetest.Denied) {
			if !f.misbehave(client, packet, seq+1) {
				return
			}
			continue
		}
		if changes(packet, seq) && f.Allowed != nil && !f.Allowed() {
			if send(client, seq+1, refusal(1105, "Unknown error while changing")) != nil {
				return
			}
			continue
		}
		if send(server, seq, packet) != nil {
			return
		}
	}
}

// misbehave returns a packet, or begins a session so; false means the session is over.
func (f *Front) misbehave(client net.Conn, packet []byte, seq byte) bool {
	switch f.Fault() {
	case enginetest.Hung:
		_, _ = io.Copy(io.Discard, client)
	case enginetest.Garbage:
		_, _ = client.Write([]byte("\x00\x01\xfe{]not what was asked for"))
	case enginetest.Endless:
		f.endless(client, packet, seq)
	case enginetest.WrongServer:
		return table(client, seq, "answer", "something else 1.0") == nil
	case enginetest.Denied:
		_ = send(client, seq, refusal(1045, "Access denied for user 'rollcall' (using password: "+f.Secret+")"))
	case enginetest.Failing:
		return send(client, seq, refusal(1105, "Unknown error")) == nil
	}
	return false
}

// endless rows, or an endless greeting.
func (f *Front) endless(client net.Conn, packet []byte, seq byte) {
	if packet == nil {
		for chunk := []byte(strings.Repeat("\xff\xff\xff\x00aaaa", 4<<10)); ; {
			if _, err := client.Write(chunk); err != nil {
				return
			}
		}
	}
	if table(client, seq, "version", "a") != nil {
		return
	}
	row := text(strings.Repeat("a", 250))
	for seq += 5; send(client, seq, row) == nil; seq++ {
	}
}

// table is an answer of one row; without its end when there are to be more of them.
func table(client net.Conn, seq byte, column, value string) error {
	definition := append(append([]byte{3, 'd', 'e', 'f', 0, 0, 0}, text(column)...), text(column)...)
	definition = append(definition, 0x0c, 33, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0)
	eof := []byte{0xfe, 0, 0, 2, 0}
	packets := [][]byte{{1}, definition, eof, text(value)}
	if value != "a" {
		packets = append(packets, eof)
	}
	for i, p := range packets {
		if err := send(client, seq+byte(i), p); err != nil {
			return err
		}
	}
	return nil
}

func text(s string) []byte { return append([]byte{byte(len(s))}, s...) }

func refusal(number uint16, words string) []byte {
	return append(append(binary.LittleEndian.AppendUint16([]byte{0xff}, number), "#HY000"...), words...)
}

var change = regexp.MustCompile(`(?i)^\s*(SET\s+GLOBAL|KILL|CHANGE|STOP|START|RESET|SELECT\s+group_replication_set_as_primary)\b`)

// changes tells a statement that changes the server.
func changes(packet []byte, seq byte) bool {
	const query = 3
	return seq == 0 && len(packet) > 0 && packet[0] == query && change.Match(packet[1:])
}

func receive(c io.Reader) (seq byte, packet []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	packet = make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err = io.ReadFull(c, packet)
	return head[3], packet, err
}

func send(c io.Writer, seq byte, packet []byte) error {
	head := []byte{byte(len(packet)), byte(len(packet) >> 8), byte(len(packet) >> 16), seq}
	_, err := c.Write(append(head, packet...))
	return err
}

// cut breaks off in the middle of the answer that comes next.
type cut struct {
	net.Conn
	mu  sync.Mutex
	off bool
}

func (c *cut) next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = true
}

func (c *cut) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off && err == nil {
		return n / 2, io.ErrUnexpectedEOF
	}
	return n, err
}
