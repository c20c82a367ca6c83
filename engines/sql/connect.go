// Package sql connects to one server of MySQL or MariaDB, and asks it, for the adapters that speak
// SQL. An answer costs a bounded time and number of bytes.
package sql

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Connection to the local server: a few short sessions, so that a changed password is used
// soon. Invariant: an answer costs a bounded time and number of bytes; no secret gets into
// an error, and the driver logs nothing.
type Connection struct {
	db         *sql.DB
	timeout    time.Duration
	access     web.Access
	unanswered unanswered
	// anonymous means that there were no credentials at the last login.
	anonymous atomic.Bool
	// refused means that a session ended because an answer was too large. The driver only says that
	// the session ended.
	refused atomic.Bool
	// denied means that a session was refused a privilege.
	denied atomic.Bool

	mu      sync.Mutex
	secrets []credentials.Secret // that were sent to the server of late
}

const (
	// MaxSessions bounds the sessions of one connection.
	MaxSessions  = 3 // a look, a statement that waits, one that ends it
	sessionLife  = time.Minute
	sessionIdles = 10 * time.Second
	// longestAnswer is a limit of the driver for statements that wait.
	longestAnswer = 5 * time.Minute
)

// Connect makes no session yet.
func Connect(o web.Access) (*Connection, error) {
	secure, err := secured(o)
	if err != nil {
		return nil, err
	}
	c := &Connection{timeout: o.Timeout, access: o}
	config := driver.NewConfig()
	config.Net, config.Addr = "tcp", o.Address()
	config.TLS = secure
	config.Timeout, config.WriteTimeout, config.ReadTimeout = o.Timeout, o.Timeout, longestAnswer
	config.MaxAllowedPacket = 1 << 20 // of what is sent
	config.InterpolateParams = true   // no prepared statements: CHANGE ... cannot be prepared
	config.Logger = silence{}
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		to, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		from, err := greeting(ctx, to)
		if err != nil {
			_ = to.Close()
			return nil, err
		}
		return &budgeted{Conn: to, from: from, max: o.MaxBytes, left: o.MaxBytes, refused: &c.refused}, nil
	}
	asked := driver.BeforeConnect(func(_ context.Context, config *driver.Config) error {
		if o.Credentials == nil {
			c.anonymous.Store(true)
			return nil
		}
		user, password, err := o.Credentials()
		if err != nil {
			return err
		}
		c.Sent(password)
		c.anonymous.Store(user == "")
		config.User, config.Passwd = user, password.Reveal()
		return nil
	})
	if err := config.Apply(asked); err != nil {
		return nil, err
	}
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, errors.New("the options of the connection do not fit together")
	}
	c.db = sql.OpenDB(guarded{connector})
	c.db.SetMaxOpenConns(MaxSessions)
	c.db.SetMaxIdleConns(1)
	c.db.SetConnMaxLifetime(sessionLife)
	c.db.SetConnMaxIdleTime(sessionIdles)
	return c, nil
}

// WithDefaults is for a server of MySQL or MariaDB.
func WithDefaults(a web.Access) web.Access { return a.WithDefaults(3306, 4<<20) }

// secured is nil when TLS is off.
func secured(a web.Access) (*tls.Config, error) {
	c, err := a.TLS.Config()
	if c != nil && c.ServerName == "" {
		c.ServerName = a.Host
	}
	return c, err
}

// Close ends all sessions.
func (c *Connection) Close() error { return c.db.Close() }

// Sent remembers a secret, to keep it out of errors.
func (c *Connection) Sent(secret credentials.Secret) {
	if secret.Reveal() == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.secrets {
		if known.Reveal() == secret.Reveal() {
			return
		}
	}
	const few = 8
	if c.secrets = append(c.secrets, secret); len(c.secrets) > few {
		c.secrets = c.secrets[1:]
	}
}

// Session is one of the connection's, for statements that belong together.
type Session struct {
	*sql.Conn
	of *Connection
}

// Session returns one; End gives it back.
func (c *Connection) Session(ctx context.Context) (Session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	one, err := c.db.Conn(ctx)
	if err != nil {
		return Session{}, c.failure(err, "")
	}
	return Session{Conn: one, of: c}, nil
}

// End gives the session back; one that is not reusable is closed. So is one that was refused a
// privilege: a server may know of a later grant only in a new one.
func (s Session) End(reusable bool) {
	if s.of.denied.Swap(false) || !reusable {
		_ = s.Raw(func(any) error { return errUnusable })
	}
	_ = s.Close()
}

// silence is a logger that logs nothing.
type silence struct{}

func (silence) Print(...any) {}

// budgeted bounds what a server answers to one request.
type budgeted struct {
	net.Conn
	from      io.Reader
	max, left int64
	// asked means that what comes next is the beginning of an answer.
	asked   bool
	refused *atomic.Bool
}

// Write begins a request.
func (b *budgeted) Write(p []byte) (int, error) {
	b.left = b.max
	const first, question = 0, 3 // of the packets of a request, and kind of request
	b.asked = len(p) > 4 && p[3] == first && p[4] == question
	return b.Conn.Write(p)
}

// SyscallConn lets the driver find out whether a session that was idle has ended.
func (b *budgeted) SyscallConn() (syscall.RawConn, error) {
	c, ok := b.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return c.SyscallConn()
}

func (b *budgeted) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.refuse()
	}
	if b.asked {
		b.asked = false
		if err := b.head(); err != nil {
			return 0, err
		}
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	return n, err
}

func (b *budgeted) refuse() error {
	engines.CountTooLarge()
	b.refused.Store(true)
	return ErrTooLarge
}

// maxColumns bounds the columns of an answer. The widest that is asked for has about 60.
const maxColumns = 250

// head looks at how an answer begins. The driver allocates as many columns as the server
// announces, and the runtime ends the process if that is too much. Within TLS it cannot be
// seen; there the server has proved who it is.
func (b *budgeted) head() error {
	first := make([]byte, 5)
	n, err := io.ReadFull(b.from, first)
	b.from = &prefixed{first[:n], b.from}
	if err != nil {
		return err
	}
	const file, failure = 0xfb, 0xff // and from here to there numbers of two bytes and more
	if kind := first[4]; kind > maxColumns && kind != file && kind != failure {
		return b.refuse()
	}
	return nil
}
