// Package sqlpod asks the MySQL or MariaDB in a pod. It knows nothing of Rollcall.
package sqlpod

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"log"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Server is the database in one pod.
type Server struct {
	// Pod and UID of it, Address with the port.
	Pod, UID, Address string
}

// Login is the login of a user, and how long he waits.
type Login struct {
	User, Password, Schema string
	// Connect within, default 1 s; Answer within, default 3 s.
	Connect, Answer time.Duration
	// Dial connects; nil means directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Address returns the address of a pod's database.
func Address(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// Open returns a pool of one connection, which is made when it is needed.
func Open(address string, login Login) *sql.DB {
	c := mysql.NewConfig()
	c.Net, c.Addr = "tcp", address
	c.User, c.Passwd, c.DBName = login.User, login.Password, login.Schema
	c.Timeout, c.ReadTimeout = or(login.Connect, time.Second), or(login.Answer, 3*time.Second)
	c.WriteTimeout = c.ReadTimeout
	c.DialFunc = login.Dial
	c.InterpolateParams = true
	c.Logger = log.New(io.Discard, "", 0)
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return sql.OpenDB(broken{err})
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(time.Minute)
	return db
}

func or(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// broken says why there can be no connection.
type broken struct{ err error }

func (b broken) Connect(context.Context) (driver.Conn, error) { return nil, b.err }
func (b broken) Driver() driver.Driver                        { return mysql.MySQLDriver{} }

// Pools keeps one pool for each server, as long as the server is there.
type Pools struct {
	Login Login

	mu    sync.Mutex
	pools map[string]*sql.DB
}

// Of the server.
func (p *Pools) Of(s Server) *sql.DB {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pools == nil {
		p.pools = map[string]*sql.DB{}
	}
	db, ok := p.pools[s.Address]
	if !ok {
		db = Open(s.Address, p.Login)
		p.pools[s.Address] = db
	}
	return db
}

// Close all of them.
func (p *Pools) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, db := range p.pools {
		_ = db.Close()
	}
	p.pools = nil
}

// Writable reports whether clients can write to the server.
func Writable(ctx context.Context, db *sql.DB) (bool, error) {
	var readOnly string
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&readOnly); err != nil {
		return false, err
	}
	return readOnly == "0" || readOnly == "OFF", nil
}

// Follows is the server that a replica follows, and how.
type Follows struct {
	// Source is the host that it follows; empty means nobody.
	Source string
	// Receiving and Applying: that thread runs.
	Receiving, Applying bool
	// Lag in seconds; empty means unknown.
	Lag string
	// Failure is the failure of a thread.
	Failure string
}

// Following asks a server which server it follows.
func Following(ctx context.Context, db *sql.DB) (Follows, error) {
	row, err := Row(ctx, db, "SHOW REPLICA STATUS")
	if err != nil || row == nil {
		return Follows{}, err
	}
	// MariaDB keeps the names that MySQL had.
	either := func(names ...string) string {
		for _, n := range names {
			if v := row[n]; v != "" {
				return v
			}
		}
		return ""
	}
	return Follows{
		Source:    either("Source_Host", "Master_Host"),
		Receiving: either("Replica_IO_Running", "Slave_IO_Running") == "Yes",
		Applying:  either("Replica_SQL_Running", "Slave_SQL_Running") == "Yes",
		Lag:       either("Seconds_Behind_Source", "Seconds_Behind_Master"),
		Failure:   either("Last_IO_Error", "Last_SQL_Error"),
	}, nil
}

// Row is the first row of an answer by the names of its columns, nil when there is none.
func Row(ctx context.Context, db *sql.DB, query string) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return nil, rows.Err()
	}
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(names))
	for i, n := range names {
		out[n] = values[i].String
	}
	return out, nil
}
