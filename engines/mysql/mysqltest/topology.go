package mysqltest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
)

// Options are the options of the servers.
type Options struct {
	Flavor Flavor
	// Version is the beginning of the version, such as 11.4. Empty means the first that is there.
	Version string
	// Servers is how many; the first is the primary.
	Servers int
	// AsStarted means that nobody allows writes, as after the first start in Kubernetes. The others
	// follow the first all the same.
	AsStarted bool
	// SemiSync means that the primary waits for acknowledgements, the others give them. A version
	// whose server comes without that does not.
	SemiSync bool
	// Alone means that nobody follows anybody.
	Alone bool
	// Unstarted means that no server is started, because its settings are not complete.
	Unstarted bool
	// DiskMB, when not 0, puts the data of each on a small file system of its own, in
	// memory, which FillDisk fills.
	DiskMB int
	// Settings are the settings of all of them for my.cnf, which win over those of this package.
	Settings map[string]string
}

// Start starts servers and waits until they answer and the replicas follow; all
// ends with the test.
func Start(t testing.TB, o Options) []*Server {
	t.Helper()
	home := homeOf(t, o.Flavor, o.Version)
	version, err := versionOf(filepath.Join(home, "bin", flavors[o.Flavor].programs[0]))
	require.NoError(t, err)
	f := flavors[o.Flavor].ofVersion(version)
	template, err := f.template(home)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "sql-") // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var servers []*Server
	t.Cleanup(func() {
		for _, s := range servers {
			s.Kill()
		}
	})
	for i, port := range freeport.Take(t, o.Servers) {
		s := &Server{
			Name: fmt.Sprintf("server-%d", i), Host: "127.0.0.1", Port: port, ID: i + 1, Flavor: o.Flavor, Version: version, Settings: maps.Clone(f.settings),
			t: t, f: f, home: home, dir: filepath.Join(dir, strconv.Itoa(i)),
		}
		require.NoError(t, os.Mkdir(s.dir, 0o755))
		data := filepath.Join(s.dir, "data")
		if o.DiskMB > 0 {
			f.mountDisk(t, data, o.DiskMB)
		}
		out, err := exec.Command("cp", "-a", "--reflink=auto", "--no-target-directory", template, data).CombinedOutput()
		require.NoError(t, err, "%s", out)
		maps.Copy(s.Settings, map[string]string{
			"datadir": data, "socket": s.socket(), "pid_file": filepath.Join(s.dir, "pid"),
			"tmpdir": s.dir, // nobody else's: MariaDB removes what is of others when it starts
			"port":   strconv.Itoa(port), "report_port": strconv.Itoa(port), "server_id": strconv.Itoa(s.ID),
		})
		maps.Copy(s.Settings, o.Settings)
		s.root = s.open("unix", s.socket(), "root", "", "")
		servers = append(servers, s)
		if !o.Unstarted {
			s.Start()
		}
	}
	if o.Unstarted {
		return servers
	}
	for i, s := range servers {
		s.AwaitUp()
		if o.SemiSync && f.semiSync != nil {
			s.SemiSync(i == 0)
		}
		if i == 0 && !o.AsStarted {
			s.AllowWrites()
		}
		if i > 0 && !o.Alone {
			s.Follow(servers[0])
		}
	}
	for _, s := range servers[1:] {
		if !o.Alone {
			s.AwaitFollowing()
		}
	}
	return servers
}

// AllowWrites lets clients write.
func (s *Server) AllowWrites() { s.t.Helper(); s.Exec(s.f.allow) }

// RefuseWrites refuses them.
func (s *Server) RefuseWrites() { s.t.Helper(); s.Exec(s.f.refuse) }

// SemiSync sets the half of semi-synchronous replication that a primary needs, or
// a replica.
func (s *Server) SemiSync(primary bool) { s.t.Helper(); s.Exec(s.f.semiSync[primary]) }

// Follow makes it a replica of the source, and starts that.
func (s *Server) Follow(source *Server) {
	s.t.Helper()
	s.Exec(s.Words("STOP REPLICA"), fmt.Sprintf(s.f.follow, source.Port, ReplicaUser, ReplicaPassword), s.Words("START REPLICA"))
}

// AwaitFollowing waits until both threads of a replica run.
func (s *Server) AwaitFollowing() {
	s.t.Helper()
	var status map[string]string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		rows := s.Rows(s.Words("SHOW REPLICA STATUS"))
		require.Len(s.t, rows, 1, "%s follows nobody", s.Name)
		status = rows[0]
		if status["Replica_IO_Running"]+status["Slave_IO_Running"] == "Yes" && status["Replica_SQL_Running"]+status["Slave_SQL_Running"] == "Yes" {
			return
		}
	}
	require.FailNow(s.t, s.Name+" does not follow", "%v", status)
}

// Executed is the position of the server, in its notation.
func (s *Server) Executed() string { s.t.Helper(); return s.Value(s.f.executed) }

// AwaitExecuted waits until the server has executed all that another has now.
func (s *Server) AwaitExecuted(other *Server) {
	s.t.Helper()
	position := other.Executed()
	if s.Value(fmt.Sprintf(s.f.await, position)) != "0" {
		require.FailNow(s.t, s.Name+" did not come to "+position, "%s\n%v\n%s", s.Executed(), s.Rows(s.Words("SHOW REPLICA STATUS")), s.Log())
	}
}
