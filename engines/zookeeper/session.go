package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// session reads one znode as a client does. It speaks the few messages that this takes, one after
// the other and each within its time, and does nothing by itself in between. Each look that needs it
// keeps the session open; a session that has ended is begun again.
type session struct {
	port clientPort

	mu   sync.Mutex
	conn net.Conn
	xid  int32
}

const (
	// configNode has the configuration of the ensemble, which every client may read by default.
	configNode = "/zookeeper/config"
	// sessionLasts is asked for; servers have limits of their own.
	sessionLasts = 30 * time.Second
	// maxMessage bounds a message, as servers do by default (jute.maxbuffer).
	maxMessage = 1 << 20

	opGetData      = 4
	opCloseSession = -11
)

// config returns what the znode has.
func (s *session) config(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.conn != nil
	text, err := s.read(ctx)
	if err != nil && used && ctx.Err() == nil {
		text, err = s.read(ctx) // the session had ended
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", configNode, err)
	}
	return text, nil
}

func (s *session) read(ctx context.Context) (text string, err error) {
	defer func() {
		if err != nil {
			s.drop()
		}
	}()
	if s.conn == nil {
		if err := s.begin(ctx); err != nil {
			return "", err
		}
	}
	conn := s.conn
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	s.xid++
	request := binary.BigEndian.AppendUint32(nil, uint32(s.xid))
	request = binary.BigEndian.AppendUint32(request, opGetData)
	request = binary.BigEndian.AppendUint32(request, uint32(len(configNode)))
	request = append(append(request, configNode...), 0) // no watch
	if err := s.send(request); err != nil {
		return "", err
	}
	answer, err := s.receive()
	if err != nil {
		return "", err
	}
	return decodeData(answer, s.xid)
}

// decodeData reads a reply: xid, zxid, error code, and then the data with their length.
func decodeData(answer []byte, xid int32) (string, error) {
	if len(answer) < 16 || int32(binary.BigEndian.Uint32(answer)) != xid {
		return "", errors.New("the answer is not one of ZooKeeper")
	}
	if code := int32(binary.BigEndian.Uint32(answer[12:])); code != 0 {
		return "", fmt.Errorf("the server answers with error %d", code)
	}
	answer = answer[16:]
	if len(answer) < 4 {
		return "", io.ErrUnexpectedEOF
	}
	n := max(int32(binary.BigEndian.Uint32(answer)), 0) // negative means no data
	if int(n) > len(answer)-4 {
		return "", io.ErrUnexpectedEOF
	}
	return string(answer[4 : 4+n]), nil
}

// begin begins a session.
func (s *session) begin(ctx context.Context) error {
	conn, err := s.port.dial(ctx, s.port.local())
	if err != nil {
		return err
	}
	s.conn, s.xid = conn, 0
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	request := make([]byte, 12) // protocol version, last zxid seen
	request = binary.BigEndian.AppendUint32(request, uint32(sessionLasts.Milliseconds()))
	request = append(request, make([]byte, 8)...) // a new session
	request = binary.BigEndian.AppendUint32(request, 16)
	request = append(request, make([]byte, 16+1)...) // no password yet, and not read-only
	if err := s.send(request); err != nil {
		return err
	}
	answer, err := s.receive()
	if errors.Is(err, io.EOF) {
		return errEmpty
	}
	if err != nil {
		return err
	}
	if len(answer) < 16 || binary.BigEndian.Uint32(answer[4:]) == 0 || binary.BigEndian.Uint64(answer[8:]) == 0 {
		return errors.New("the server gives no session")
	}
	return nil
}

func (s *session) send(message []byte) error {
	_, err := s.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}

func (s *session) receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.conn, head[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > min(maxMessage, s.port.access.MaxBytes) {
		engines.CountTooLarge()
		return nil, web.ErrTooLarge
	}
	message := make([]byte, n)
	_, err := io.ReadFull(s.conn, message)
	return message, err
}

func (s *session) drop() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// close ends the session, so that the server need not wait for it.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return
	}
	_ = s.conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
	request := binary.BigEndian.AppendUint32(nil, uint32(s.xid+1))
	operation := int32(opCloseSession)
	_ = s.send(binary.BigEndian.AppendUint32(request, uint32(operation)))
	s.drop()
}
