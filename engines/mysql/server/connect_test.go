package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sql"
	"github.com/rollcall-dev/rollcall/engines/web"
)

const wirePassword = "hunter2"

// TestServersThatMisbehave checks that a look ends, costs little, says what was wrong in one line,
// logs nothing, and leaves nothing behind.
func TestServersThatMisbehave(t *testing.T) {
	var logged bytes.Buffer
	require.NoError(t, driver.SetLogger(log.New(&logged, "", 0)))
	for name, c := range map[string]struct {
		serve func(c net.Conn)
		want  string
	}{
		"hung":    {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "no answer in time"},
		"closing": {func(net.Conn) {}, "the connection ended"},
		"garbage": {func(c net.Conn) {
			r, junk := rand.New(rand.NewPCG(1, 2)), make([]byte, 4096)
			for i := range junk {
				junk[i] = byte(r.Uint32())
			}
			_, _ = c.Write(junk)
		}, ""},
		"another database": {func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, ""},
		"without end": {func(c net.Conn) {
			for block := bytes.Repeat([]byte{0xff}, 1<<16); ; {
				if _, err := c.Write(block); err != nil {
					return
				}
			}
		}, ""},
		"rows without end": {mysqltest.Speaking(func(w *mysqltest.Wire, _ string) error {
			err := w.Columns("version")
			for err == nil {
				var block []byte
				for range 4096 {
					block = append(append(block, 6, 0, 0, w.Seq), mysqltest.Text("9.9.9")...)
					w.Seq++
				}
				_, err = w.Write(block)
			}
			return err
		}), "the answer is longer than the limit"},
		"a row without end": {mysqltest.Speaking(func(w *mysqltest.Wire, _ string) error {
			err := w.Columns("version")
			for err == nil {
				_, err = w.Write(append([]byte{0xff, 0xff, 0xff, w.Seq}, bytes.Repeat([]byte{'x'}, 0xffffff)...))
				w.Seq++
			}
			return err
		}), "the answer is longer than the limit"},
		"no version": {mysqltest.Speaking(func(w *mysqltest.Wire, _ string) error {
			return w.Send(mysqltest.Fail(1064, "You have "+wirePassword+"\nan error"))
		}), "error 1064: You have [hidden] an error"},
		"an odd one":   {mysqltest.Speaking(func(w *mysqltest.Wire, _ string) error { return w.AnswerOne("version", "hello") }), "version \"hello\""},
		"another kind": {mysqltest.Speaking(func(w *mysqltest.Wire, _ string) error { return w.AnswerOne("version", "10.11.2-MariaDB") }), "of another kind: MariaDB, and not MySQL"},
		"refusing all": {mysqltest.Speaking(func(w *mysqltest.Wire, q string) error {
			if strings.Contains(q, "VERSION() AS version") && !strings.Contains(q, ",") {
				return w.AnswerOne("version", "9.9.9")
			}
			return w.Send(mysqltest.Fail(1227, "Access denied; you need hunter2"))
		}), "error 1227"},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			o := listen(t, c.serve)
			o.Flavor, o.Timeout, o.MaxBytes, o.Credentials = replication.MySQL, time.Minute, 1<<20, mysqltest.Fixed("me", wirePassword)
			if name == "hung" {
				o.Timeout = 200 * time.Millisecond
			}
			l, err := New(o)
			require.NoError(t, err)
			s, err := l.Look(t.Context())
			require.NoError(t, err)
			require.False(t, s.Serving || s.Down)
			require.Equal(t, replication.WritesUnknown, s.Writes)
			require.Contains(t, s.Problem, c.want)
			require.NotEmpty(t, s.Problem)
			require.NotContains(t, s.Problem, wirePassword)
			require.NotContains(t, s.Problem, "\n")
			require.Error(t, l.StopWrites(t.Context(), time.Second))
			require.Error(t, l.AllowWrites(t.Context()))
			_, err = l.DropClients(t.Context())
			require.Error(t, err)
			require.NoError(t, l.Close())
			mysqltest.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }) // the one that accepts
		})
	}
	require.Empty(t, logged.String())
}

// TestForgettingNamesItsPrivilege checks that the error names the privilege: forgetting a source
// needs another one than to stop following it.
func TestForgettingNamesItsPrivilege(t *testing.T) {
	for refused, needs := range map[string]string{"STOP REPLICA": "REPLICATION_SLAVE_ADMIN", "RESET REPLICA ALL": "RELOAD"} {
		t.Run(refused, func(t *testing.T) {
			server, err := New(listen(t, mysqltest.Speaking(func(w *mysqltest.Wire, q string) error {
				switch q {
				case refused:
					return w.Send(mysqltest.Fail(sql.RefusedPrivilege, "Access denied; you need (at least one of) the privilege(s) for this operation"))
				case "SHOW REPLICA STATUS":
					return w.AnswerOne("Source_Host", "mysql-0.mysql")
				case "STOP REPLICA", "RESET REPLICA ALL":
					return w.Send(mysqltest.Okay)
				}
				return w.AnswerOne("version", "9.9.9")
			})))
			require.NoError(t, err)
			defer server.Close()
			require.EqualError(t, server.Detach(t.Context()), "needs "+needs)
		})
	}
}

// TestExamplesGrantWhatIsNeeded checks that who follows the examples can hand over.
func TestExamplesGrantWhatIsNeeded(t *testing.T) {
	for flavor, file := range map[replication.Flavor]string{replication.MySQL: "mysql.yaml", replication.MariaDB: "mariadb.yaml"} {
		text, err := os.ReadFile("../../../deploy/examples/" + file)
		require.NoError(t, err)
		var granted string
		for line := range strings.Lines(string(text)) {
			granted += strings.TrimSpace(strings.TrimPrefix(line, "#")) + " "
		}
		needs := dialects[flavor].needs
		list := []string{needs.source, needs.replicas, needs.process, needs.logs, needs.readOnly, needs.replica, needs.forget, needs.kill}
		if flavor == replication.MySQL { // MariaDB's information_schema is open to all
			list = append(list, needs.schema)
		}
		for _, privilege := range list {
			require.Regexp(t, `(?i)GRANT [^;]*\b`+privilege+`\b[^;]* TO rollcall@`, granted, file)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	server, err := New(Options{Access: web.Access{Host: "127.0.0.1", Port: port}})
	require.NoError(t, err)
	defer server.Close()
	s, err := server.Look(t.Context())
	require.NoError(t, err)
	require.True(t, s.Down)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = server.Look(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, server.StopWrites(ended, time.Second), context.Canceled)
}

// TestCredentialsAreReadAnew checks that each new session reads the credentials.
func TestCredentialsAreReadAnew(t *testing.T) {
	asked := 0
	o := listen(t, mysqltest.Speaking(func(w *mysqltest.Wire, _ string) error { return fmt.Errorf("ends after each question") }))
	read := mysqltest.Fixed("me", wirePassword)
	o.Credentials = func() (string, credentials.Secret, error) { asked++; return read() }
	l, err := New(o)
	require.NoError(t, err)
	defer l.Close()
	for range 3 {
		before := asked
		_, err := l.Look(t.Context())
		require.NoError(t, err)
		require.Greater(t, asked, before)
	}
}

func TestTLSIsVerified(t *testing.T) {
	plain := listen(t, mysqltest.Speaking(func(w *mysqltest.Wire, _ string) error { return w.AnswerOne("version", "9.9.9") }))
	plain.TLS = web.TLS{Enabled: true}
	l, err := New(plain)
	require.NoError(t, err)
	defer l.Close()
	s, err := l.Look(t.Context())
	require.NoError(t, err)
	require.Contains(t, s.Problem, "TLS", "it is never given up silently")
}

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]Options{
		"port":       {Access: web.Access{Port: 70000}},
		"host":       {Access: web.Access{Host: "db@x"}},
		"flavor":     {Flavor: "Oracle"},
		"timeout":    {Access: web.Access{Timeout: -1}},
		"tls":        {Access: web.Access{TLS: web.TLS{ServerName: "x"}}},
		"ca":         {Access: web.Access{TLS: web.TLS{Enabled: true, CA: "x"}}},
		"line break": {Access: web.Access{Host: "a\nb"}},
	} {
		_, err := New(o)
		require.Error(t, err, name)
	}
	e, err := New(Options{})
	require.NoError(t, err)
	require.NoError(t, e.Close())
}
