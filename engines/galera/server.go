package galera

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sql"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// statements that a look takes. The names of variables contain no user's data.
const (
	askVariables = `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'wsrep_on', 'wsrep_provider', 'wsrep_node_name', 'wsrep_provider_options', 'wsrep_reject_queries')`
	askStatus    = `SHOW GLOBAL STATUS LIKE 'wsrep\_%'`
	askMembers   = `SELECT node_uuid AS uuid, node_name AS name, node_incoming_address AS address FROM mysql.wsrep_cluster_members`
	// Appliers have no connection of a client. A transaction that has changed nothing is lost by nobody.
	askWriting = `SELECT MAX(TIMESTAMPDIFF(SECOND, t.trx_started, NOW())) AS age, COUNT(*) AS transactions FROM information_schema.INNODB_TRX t ` +
		`JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id WHERE t.trx_rows_modified > 0 AND p.USER <> 'system user'`
)

// needs are the privileges that the statements take.
const (
	needsMembers = "SELECT on mysql.wsrep_cluster_members"
	needsProcess = "PROCESS"
)

// database is the local server.
type database interface {
	// Look returns the State. A server that does not answer is no error.
	Look(ctx context.Context) (State, error)
	Close() error
}

// server asks over SQL.
type server struct {
	connection *sql.Connection
	timeout    time.Duration
	writing    sql.Transactions
}

func connect(access web.Access) (*server, error) {
	access = sql.WithDefaults(access)
	if err := access.Validate(); err != nil {
		return nil, err
	}
	c, err := sql.Connect(access)
	if err != nil {
		return nil, err
	}
	return &server{connection: c, timeout: access.Timeout}, nil
}

// Close ends all sessions.
func (s *server) Close() error { return s.connection.Close() }

// answers are what a server said in one look; missing is what it refused.
type answers struct {
	variables, status sql.Row
	members, writing  []sql.Row
	missing           []string
}

// Look asks everything in one session.
func (s *server) Look(ctx context.Context) (State, error) {
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	now := time.Now()
	a, err := s.ask(bounded)
	if ctx.Err() != nil {
		return State{Looked: now}, ctx.Err()
	}
	if err != nil {
		return State{Looked: now, Down: errors.Is(err, sql.ErrNoServer), Problem: engines.OneLine(err.Error()), Committed: -1, Cached: -1}, nil
	}
	return a.state(now), nil
}

func (s *server) ask(ctx context.Context) (answers, error) {
	one, err := s.connection.Session(ctx)
	if err != nil {
		return answers{}, err
	}
	defer one.End(true)
	var a answers
	variables, err := one.Rows(ctx, "", askVariables)
	if err != nil {
		return a, err
	}
	// The members before the status: a view that changes between the two is not one.
	members, err := one.Rows(ctx, needsMembers, askMembers)
	if err := a.note(err); err != nil {
		return a, err
	}
	a.members = members
	status, err := one.Rows(ctx, "", askStatus)
	if err != nil {
		return a, err
	}
	a.variables, a.status = sql.Pairs(variables), sql.Pairs(status)
	if ready, _ := a.status.On("wsrep_ready"); ready {
		a.writing, err = s.writing.Ask(ctx, one, needsProcess, askWriting)
		err = a.note(err)
	}
	return a, err
}

// notReady is the error of a server of Galera that executes nothing now.
const notReady = 1047

// note keeps what the server refused, and returns what else went wrong. A server that executes
// nothing now still answers about its status.
func (a *answers) note(err error) error {
	switch n := sql.Number(err); {
	case err == nil, n == notReady:
		return nil
	case n == sql.NoSuchTable:
		a.missing = append(a.missing, "the server has no table mysql.wsrep_cluster_members: it must be MariaDB 10.4 or later")
		return nil
	case n != 0:
		a.missing = append(a.missing, err.Error())
		return nil
	}
	return err
}

// providerOption returns one of wsrep_provider_options.
func providerOption(options, name string) string {
	for part := range strings.SplitSeq(options, ";") {
		key, value, _ := strings.Cut(part, "=")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// problem says what is missing.
func (a answers) problem() string {
	if len(a.missing) == 0 {
		return ""
	}
	return engines.OneLine(fmt.Sprintf("the server does not tell all: %s", strings.Join(a.missing, "; ")))
}
