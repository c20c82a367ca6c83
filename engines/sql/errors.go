package sql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	driver "github.com/go-sql-driver/mysql"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
)

var (
	ErrTooLarge = errors.New("the answer is longer than the limit")
	errUnusable = sqldriver.ErrBadConn
	// ErrNoServer means that no server listens.
	ErrNoServer = errors.New("no server listens")
)

// numbers of the server's errors that something depends on.
const (
	RefusedLogin     = 1045
	RefusedBusy      = 1205 // lock wait timeout
	RefusedPrivilege = 1227
	RefusedSelect    = 1142 // no privilege on a table
	RefusedColumn    = 1143
	RefusedNoThread  = 1094 // no such connection
	RefusedOwner     = 1095 // it is that of a user with more privileges
	RefusedSyntax    = 1064
	UnknownTable     = 1109
	NoSuchTable      = 1146
	UnknownVariable  = 1193
)

// noCredentials is told when nobody in particular was refused.
const noCredentials = "the agent has no username and password: connection.credentialsSecret, or the Secret <DatabaseCluster>-rollcall-credentials, is to have them"

// Refusal is what a server says no with.
type Refusal struct {
	Number uint16
	Words  string
}

func (r *Refusal) Error() string { return r.Words }

// Number returns the number of the server's error; 0 means it is none.
func Number(err error) uint16 {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Number
	}
	return 0
}

// Refused reports whether the server itself has said no.
func Refused(err error) bool { return Number(err) != 0 }

// LacksPrivilege reports whether it was refused for want of one.
func LacksPrivilege(err error) bool {
	n := Number(err)
	return n == RefusedPrivilege || n == RefusedSelect || n == RefusedColumn
}

// failure makes an error fit to be shown. needs is the privilege that the
// statement takes.
func (c *Connection) failure(err error, needs string) error {
	var said *driver.MySQLError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &said):
		r := &Refusal{Number: said.Number}
		if r.Words = fmt.Sprintf("error %d: %s", said.Number, c.hide(said.Message)); LacksPrivilege(r) && needs != "" {
			r.Words = "needs " + needs
			c.denied.Store(true)
		}
		if said.Number == RefusedLogin && c.anonymous.Load() {
			r.Words = noCredentials + " (" + r.Words + ")"
		}
		return r
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer in time: %w", plainContext(err))
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: %w", ErrNoServer, syscall.ECONNREFUSED)
	case errors.Is(err, ErrTooLarge):
		return ErrTooLarge
	case errors.Is(err, driver.ErrInvalidConn), errors.Is(err, sqldriver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if c.refused.Swap(false) {
			return ErrTooLarge
		}
		return errors.New("the connection ended")
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("no answer in time")
	}
	if why := c.access.Unverified(err); why != "" {
		return errors.New(c.hide(err.Error()) + "; " + why)
	}
	return errors.New(c.hide(err.Error()))
}

func plainContext(err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return context.DeadlineExceeded
}

// hide makes one line of foreign words, without any secret that was sent of late.
func (c *Connection) hide(words string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.secrets {
		words = strings.ReplaceAll(words, s.Reveal(), credentials.Hidden)
	}
	return engines.OneLine(words)
}

// Failure makes an error of the session fit to be shown. needs is the privilege that the statement
// takes.
func (s Session) Failure(err error, needs string) error { return s.of.failure(err, needs) }
