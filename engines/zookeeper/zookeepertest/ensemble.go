package zookeepertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
	"github.com/rollcall-dev/rollcall/engines/enginetest/process"
)

// Options are the options of an ensemble.
type Options struct {
	// Lib has the jars; the zero value means the newest.
	Lib Lib
	// Voters and Observers are how many servers there are. One voter alone is a server without an
	// ensemble.
	Voters, Observers int
	// Words is 4lw.commands.whitelist; empty means the server's own default.
	Words string
	// Admin starts the admin servers.
	Admin bool
	// TLS makes the client port one with TLS.
	TLS bool
	// ClientCertificates means that clients must show a certificate of the ensemble's CA.
	ClientCertificates bool
	// Reconfig allows the configuration to be changed by clients.
	Reconfig bool
	// Lines are added to each configuration.
	Lines string
}

// Ensemble is some servers.
type Ensemble struct {
	// Servers are the voters and then the observers. The first one has the number 1.
	Servers []*Server
	// CA signs the servers' certificates, and Client and ClientKey are a client's; PEM, empty
	// without TLS.
	CA, Client, ClientKey string

	t       testing.TB
	dir     string
	options Options
}

// Server is one process.
type Server struct {
	// ID is myid.
	ID int
	// Port is for clients, AdminPort that of the admin server; both on 127.0.0.1.
	Port, AdminPort int
	// Lib has the jars with which it is started.
	Lib Lib

	quorum, election int
	observer         bool
	ensemble         *Ensemble
	dir              string
	starts           int
	process          *process.Process
}

// Start starts an ensemble, waits until all servers serve, and ends it with the test.
func Start(t testing.TB, o Options) *Ensemble {
	t.Helper()
	if o.Lib == (Lib{}) {
		o.Lib = Newest(t)
	}
	e := &Ensemble{t: t, dir: t.TempDir(), options: o}
	if o.TLS {
		e.makeCertificates()
	}
	t.Cleanup(func() {
		for _, s := range e.Servers {
			s.process.Kill()
		}
	})
	for i := range o.Voters + o.Observers {
		e.add(i >= o.Voters)
	}
	for _, s := range e.Servers {
		s.Start()
	}
	for _, s := range e.Servers {
		s.AwaitServing()
	}
	return e
}

func (e *Ensemble) add(observer bool) *Server {
	ports := freeport.Take(e.t, 4)
	s := &Server{
		ID: len(e.Servers) + 1, Port: ports[0], AdminPort: ports[1], quorum: ports[2], election: ports[3],
		Lib: e.options.Lib, observer: observer, ensemble: e,
	}
	s.dir = filepath.Join(e.dir, fmt.Sprint("server-", s.ID))
	e.Servers = append(e.Servers, s)
	return s
}

// Add adds a server that knows of all others, and that the others do not know of.
func (e *Ensemble) Add() *Server { return e.add(false) }

// Line is the server's line in a configuration.
func (s *Server) Line() string {
	kind := "participant"
	if s.observer {
		kind = "observer"
	}
	return fmt.Sprintf("server.%d=127.0.0.1:%d:%d:%s;127.0.0.1:%d", s.ID, s.quorum, s.election, kind, s.Port)
}

// Start starts the server without waiting, with what the ensemble is now.
func (s *Server) Start() {
	e, o := s.ensemble, s.ensemble.options
	require.NoError(e.t, os.MkdirAll(s.dir, 0o755))
	lines := []string{
		"tickTime=200", "initLimit=100", "syncLimit=10", "dataDir=" + filepath.Join(s.dir, "data"), "maxClientCnxns=0",
		fmt.Sprint("admin.enableServer=", o.Admin), fmt.Sprint("admin.serverPort=", s.AdminPort), "admin.serverAddress=127.0.0.1", o.Lines,
	}
	if o.Words != "" {
		lines = append(lines, "4lw.commands.whitelist="+o.Words)
	}
	if o.Reconfig {
		lines = append(lines, "reconfigEnabled=true", "skipACL=yes")
	}
	if o.TLS {
		lines = append(lines, e.tlsLines(s)...)
	}
	if len(e.Servers) == 1 {
		lines = append(lines, fmt.Sprint("clientPort=", s.Port), "clientPortAddress=127.0.0.1")
	} else {
		for _, other := range e.Servers {
			lines = append(lines, other.line())
		}
	}
	config := filepath.Join(s.dir, "zoo.cfg")
	if _, err := os.Stat(config); err != nil || !o.Reconfig { // the servers write it themselves
		require.NoError(e.t, os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	}
	require.NoError(e.t, os.MkdirAll(filepath.Join(s.dir, "data"), 0o755))
	require.NoError(e.t, os.WriteFile(filepath.Join(s.dir, "data", "myid"), fmt.Append(nil, s.ID), 0o644))
	s.starts++
	classes := filepath.Join(os.Getenv(EnvHome), "etc") + ":" + s.Lib.dir + "/*"
	s.process = process.Start(e.t, filepath.Join(s.dir, fmt.Sprint("start-", s.starts, ".log")), exec.Command("java",
		"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config))
}

// line is the line as the configurations have it. With TLS the port
// of the line is the one for clients without.
func (s *Server) line() string {
	if s.ensemble.options.TLS {
		line, _, _ := strings.Cut(s.Line(), ";")
		return line
	}
	return s.Line()
}

// Stop ends the server with SIGTERM and waits.
func (s *Server) Stop() {
	s.process.Signal(syscall.SIGTERM)
	s.process.Wait(30 * time.Second)
}

// Kill ends the server with SIGKILL and waits.
func (s *Server) Kill() { s.process.Kill() }

// Pause stops the process until the function is called.
func (s *Server) Pause() (resume func()) {
	s.process.Signal(syscall.SIGSTOP)
	return func() { s.process.Signal(syscall.SIGCONT) }
}

// Wipe removes the data of a server that does not run.
func (s *Server) Wipe() {
	require.NoError(s.ensemble.t, os.RemoveAll(filepath.Join(s.dir, "data", "version-2")))
}

// Output is what the server has logged since its last start.
func (s *Server) Output() string { return s.process.Output() }

// Address is where clients reach it.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }

// AwaitServing waits until the server serves.
func (s *Server) AwaitServing() {
	s.ensemble.t.Helper()
	require.Eventually(s.ensemble.t, func() bool { return s.Mode() != "" }, 2*time.Minute, 50*time.Millisecond, "it did not start: %s", s.process.Tail())
}
