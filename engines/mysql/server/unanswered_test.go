package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/sql"
	"github.com/stretchr/testify/require"
)

// stuckServer lets those who ask one thing wait until it is released, and knows who
// waits although nobody listens any more.
type stuckServer struct {
	at       string
	reached  chan struct{} // one token for each time that it is asked
	released chan struct{}

	mu      sync.Mutex
	asked   map[string]int
	waiting int
}

func (s *stuckServer) count(q string, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting += waiting
	if waiting >= 0 {
		s.asked[q]++
	}
}

func (s *stuckServer) times(part string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q, times := range s.asked {
		if strings.Contains(q, part) && !strings.Contains(q, "INFO = ") {
			n += times
		}
	}
	return n
}

func (s *stuckServer) serve(c net.Conn) {
	mysqltest.Speaking(func(w *mysqltest.Wire, q string) error {
		switch {
		case strings.Contains(q, "INFO = "):
			s.mu.Lock()
			n := 0
			if strings.Contains(q, "INFO = '"+s.at) {
				n = s.waiting
			}
			s.mu.Unlock()
			switch {
			case strings.Contains(q, "performance_schema.processlist"):
				return w.Send(mysqltest.Fail(sql.NoSuchTable, "no such table"))
			case n > 0:
				return w.AnswerOne("id", "7")
			}
			return answerNone(w, "id")
		case strings.HasPrefix(q, s.at):
			s.count(q, 1)
			s.reached <- struct{}{}
			<-s.released
			s.count(q, -1)
			return w.Send(mysqltest.Fail(1227, "no"))
		case strings.HasPrefix(q, "SELECT VERSION()"):
			return w.AnswerOne("version", "10.11.9-MariaDB")
		}
		s.count(q, 0)
		return w.Send(mysqltest.Fail(1227, "no"))
	})(c)
}

func answerNone(w *mysqltest.Wire, column string) error {
	if err := w.Columns(column); err != nil {
		return err
	}
	return w.Send(mysqltest.EOF)
}

// TestUnansweredIsNotAskedAgain checks that a server that does not answer one thing is left with as
// many sessions as were there at a time, however often it is looked at; and asked again when the
// first has ended.
func TestUnansweredIsNotAskedAgain(t *testing.T) {
	for at, change := range map[string]func(ctx context.Context, l *Server) error{
		"SHOW ALL REPLICAS STATUS": func(ctx context.Context, l *Server) error {
			s, err := l.Look(ctx)
			return errors.Join(err, errors.New(s.Problem))
		},
		"SET GLOBAL read_only = 0": func(ctx context.Context, l *Server) error { return l.AllowWrites(ctx) },
	} {
		t.Run(at, func(t *testing.T) {
			server := &stuckServer{at: at, reached: make(chan struct{}, 10), released: make(chan struct{}), asked: map[string]int{}}
			o := listen(t, server.serve)
			o.Credentials = mysqltest.Fixed("me", wirePassword)
			l, err := New(o)
			require.NoError(t, err)
			defer l.Close()
			ctx, giveUp := context.WithCancel(t.Context())
			go func() {
				<-server.reached
				giveUp()
			}()
			require.Error(t, change(ctx, l))
			for range 5 { // none waits for an answer that does not come
				err := change(t.Context(), l)
				require.ErrorContains(t, err, "the server has not answered "+at+" for ")
				require.ErrorContains(t, err, ", as one does whose disk is full")
			}
			require.Equal(t, 1, server.times(at))
			close(server.released)
			mysqltest.Eventually(t, func() bool {
				server.mu.Lock()
				defer server.mu.Unlock()
				return server.waiting == 0
			})
			err = change(t.Context(), l)
			require.NotContains(t, fmt.Sprint(err), "has not answered")
			require.Equal(t, 2, server.times(at))
		})
	}
}
