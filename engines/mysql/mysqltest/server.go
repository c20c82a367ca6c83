package mysqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/process"
)

// Server is one process with its data, which outlives the process.
type Server struct {
	Name string
	Host string
	Port int
	// ID is its server_id.
	ID     int
	Flavor Flavor
	// Version of the program, as major.minor.patch.
	Version string
	// Settings are the settings of my.cnf: a change counts from the next start on.
	Settings map[string]string
	// Env is added to the environment, and Arguments to the command line, from the next start on.
	Env, Arguments []string

	t       testing.TB
	f       flavor
	home    string
	dir     string
	root    *sql.DB
	starts  int
	process *process.Process
}

// Start starts the server without waiting.
func (s *Server) Start() {
	s.t.Helper()
	config := filepath.Join(s.dir, "my.cnf")
	require.NoError(s.t, os.WriteFile(config, []byte(file(s.Settings)), 0o644))
	s.starts++
	log := filepath.Join(s.dir, fmt.Sprintf("start-%d.log", s.starts))
	command := exec.Command(filepath.Join(s.home, "bin", s.f.programs[0]), append([]string{"--defaults-file=" + config}, s.Arguments...)...)
	command.Env = append(os.Environ(), s.Env...)
	s.process = process.Start(s.t, log, command)
}

// AwaitUp waits until the server answers.
func (s *Server) AwaitUp() {
	s.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
		err := s.root.PingContext(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) || s.Ended() {
			require.FailNow(s.t, s.Name+" did not start", "%v\n%s", err, s.process.Tail())
		}
	}
}

// Ended reports whether the process has ended.
func (s *Server) Ended() bool {
	if s.process == nil {
		return true
	}
	select {
	case <-s.process.Ended():
		return true
	default:
		return false
	}
}

// Stop ends the server in its own way, and waits.
func (s *Server) Stop() {
	s.process.Signal(syscall.SIGTERM)
	s.process.Wait(time.Minute)
}

// Kill ends the server with SIGKILL, and waits.
func (s *Server) Kill() { s.process.Kill() }

// Restart starts the server again with its data, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	if !s.Ended() {
		s.Stop()
	}
	s.Start()
	s.AwaitUp()
}

// Pause stops the server from answering until the function is called.
func (s *Server) Pause() (resume func()) {
	s.t.Helper()
	pid, err := os.ReadFile(s.Settings["pid_file"])
	require.NoError(s.t, err)
	s.process.Signal(syscall.SIGSTOP)
	// Each thread stops when it gets to it.
	require.Eventually(s.t, func() bool {
		threads, err := filepath.Glob("/proc/" + strings.TrimSpace(string(pid)) + "/task/*/stat")
		return err == nil && !slices.ContainsFunc(threads, runs)
	}, time.Minute, 10*time.Millisecond, "%s does not stop", s.Name)
	return func() { s.process.Signal(syscall.SIGCONT) }
}

// runs reports whether a thread is not stopped; one that is gone is.
func runs(stat string) bool {
	text, err := os.ReadFile(stat)
	_, state, _ := strings.Cut(string(text), ") ") // a name may hold anything
	return err == nil && !strings.HasPrefix(state, "T")
}

// Address for clients.
func (s *Server) Address() string { return fmt.Sprintf("%s:%d", s.Host, s.Port) }

// Log is the end of what the server printed since its last start.
func (s *Server) Log() string { return s.process.Tail() }

func (s *Server) socket() string { return filepath.Join(s.dir, "socket") }

// Open returns connections of a user through TCP, which end with the test.
func (s *Server) Open(user, password, database string) *sql.DB {
	s.t.Helper()
	return s.open("tcp", s.Address(), user, password, database)
}

func (s *Server) open(network, address, user, password, database string) *sql.DB {
	c := driver.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.DBName = network, address, user, password, database
	c.InterpolateParams = true
	c.Logger = &driver.NopLogger{}
	connector, err := driver.NewConnector(c)
	require.NoError(s.t, err)
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(1)
	s.t.Cleanup(func() { _ = db.Close() })
	return db
}

// Root returns connections of root through the socket.
func (s *Server) Root() *sql.DB { return s.root }

// Try makes root execute a statement.
func (s *Server) Try(statement string) error {
	_, err := s.root.ExecContext(s.t.Context(), statement)
	return err
}

// Exec makes root execute statements, in one session.
func (s *Server) Exec(statements ...string) {
	s.t.Helper()
	session, err := s.root.Conn(s.t.Context())
	require.NoError(s.t, err)
	defer session.Close()
	for _, statement := range statements {
		_, err := session.ExecContext(s.t.Context(), statement)
		require.NoError(s.t, err, "%s: %s", s.Name, statement)
	}
}

// Rows returns what root is told, by column; NULL is absent.
func (s *Server) Rows(query string) []map[string]string {
	s.t.Helper()
	rows, err := s.root.QueryContext(s.t.Context(), query)
	require.NoError(s.t, err, "%s: %s", s.Name, query)
	defer rows.Close()
	out, err := read(rows)
	require.NoError(s.t, err, "%s: %s", s.Name, query)
	return out
}

// Value returns the one value of the one row that root is told; NULL is empty.
func (s *Server) Value(query string) string {
	s.t.Helper()
	rows := s.Rows(query)
	require.Len(s.t, rows, 1, query)
	for _, v := range rows[0] {
		return v
	}
	return ""
}

func read(rows *sql.Rows) ([]map[string]string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []map[string]string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := map[string]string{}
		for i, v := range values {
			if v.Valid {
				row[columns[i]] = v.String
			}
		}
		out = append(out, row)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}
