package server

import (
	"context"
	"errors"

	"github.com/rollcall-dev/rollcall/engines/sql"
)

// MaxSessions bounds the sessions with a server.
const MaxSessions = sql.MaxSessions

// Refusal is what a server says no with.
type Refusal = sql.Refusal

// Refused reports whether the server itself has said no.
func Refused(err error) bool { return sql.Refused(err) }

// errFlavor means that the server does not have the flavor of the options.
var errFlavor = errors.New("the server is of another kind")

// session is one of the connection's, for statements that belong together.
type session struct{ sql.Session }

func (l *Server) session(ctx context.Context) (session, error) {
	s, err := l.connection.Session(ctx)
	return session{s}, err
}
