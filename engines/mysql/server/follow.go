package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

// Follow changes nothing when the server already follows that source well.
func (l *Server) Follow(ctx context.Context, host string, port int, demoted bool) error {
	return l.with(ctx, changeTimeout, func(ctx context.Context, s session, d *dialect) error {
		now, err := s.followed(ctx, d)
		if err != nil {
			return err
		}
		if now != nil && now.Host == host && now.Port == port && !now.ByPosition && !demoted && now.Failure == "" {
			if now.Receiving && now.Applying {
				return nil
			}
			if !now.Started {
				return s.Do(ctx, d.needs.replica, d.start)
			}
		}
		plain, err := s.plain(ctx, d, now != nil)
		if err != nil {
			return err
		}
		query, args, err := l.change(d, host, port, demoted, now != nil, plain)
		if err != nil {
			return err
		}
		if now != nil {
			if err := s.Do(ctx, d.needs.replica, d.stop); err != nil {
				return err
			}
		}
		if err := s.secretly(ctx, d.needs.replica, query, args...); err != nil {
			if now != nil && now.Started { // it goes on as before
				err = errors.Join(err, s.Do(ctx, d.needs.replica, d.start))
			}
			return err
		}
		return s.Do(ctx, d.needs.replica, d.start)
	})
}

// plain reports whether a new replica has to be told to follow without TLS. From 11.4 on MariaDB
// demands TLS of its source by itself, also where the servers are set to have none. A replica keeps
// what it was told before.
func (s session) plain(ctx context.Context, d *dialect, replica bool) (bool, error) {
	if replica || d.change.tlsOff == "" {
		return false, nil
	}
	r, err := s.One(ctx, "", d.change.tlsOff)
	if absent(err) {
		return false, nil
	}
	return r.Text("off") == "1", err
}

// change is the statement that gives a replica its source. A replica keeps what it does
// not name.
func (l *Server) change(d *dialect, host string, port int, demoted, replica, plain bool) (string, []any, error) {
	c := d.change
	parts, args := []string{c.prefix + "HOST = ?", c.prefix + "PORT = ?", c.prefix + "CONNECT_RETRY = 2"}, []any{host, port}
	var user string
	var password credentials.Secret
	if l.options.ReplicationCredentials != nil {
		var err error
		if user, password, err = l.options.ReplicationCredentials(); err != nil {
			return "", nil, fmt.Errorf("of replication: %w", err)
		}
		l.connection.Sent(password)
	}
	switch {
	case user != "": // nobody: none were given
		parts, args = append(parts, c.prefix+"USER = ?", c.prefix+"PASSWORD = ?"), append(args, user, password.Reveal())
	case !replica:
		return "", nil, errors.New("credentials of replication are needed to make a replica of a server that is none")
	}
	switch {
	case l.options.TLS.Enabled:
		parts = append(parts, c.tls)
	case plain:
		parts = append(parts, c.plain)
	}
	if c.always != "" {
		parts = append(parts, c.always)
	}
	last := c.last
	if demoted {
		last += c.demoted
	}
	return c.statement + strings.Join(append(parts, last), ", "), args, nil
}

// secretly runs a statement that carries a secret. Of a refusal only the number is
// reported, because servers repeat statements that they do not understand.
func (s session) secretly(ctx context.Context, needs, query string, args ...any) error {
	_, err := s.ExecContext(ctx, query, args...)
	err = s.Failure(err, needs)
	if n := sql.Number(err); n != 0 && !sql.LacksPrivilege(err) {
		return &Refusal{Number: n, Words: fmt.Sprintf("the server refused another source with error %d", n)}
	}
	return err
}
