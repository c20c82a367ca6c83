package mysqltest

import (
	"database/sql"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
	"github.com/rollcall-dev/rollcall/engines/enginetest/process"
)

// Galera is a cluster of real members on loopback.
type Galera struct {
	Members []*Server

	t     testing.TB
	home  string
	dir   string
	ports [][3]int // of each member: replication, incremental and full state transfer
}

// GaleraOptions are the options of StartGalera.
type GaleraOptions struct {
	Members int
	// Settings are the settings of all of them, Provider those of wsrep_provider_options.
	Settings map[string]string
	Provider map[string]string
}

// AgentGaleraGrants are the grants that the agent's account needs on a member of Galera.
var AgentGaleraGrants = []string{"SELECT ON mysql.wsrep_cluster_members", "PROCESS ON *.*"}

// provider options make members notice quickly that another one has gone.
var provider = map[string]string{
	"evs.keepalive_period": "PT0.5S", "evs.suspect_timeout": "PT2S", "evs.inactive_timeout": "PT4S", "evs.install_timeout": "PT4S",
	"gmcast.peer_timeout": "PT2S", "pc.announce_timeout": "PT1S", "gcache.size": "8M", "gcache.page_size": "8M",
}

// StartGalera starts members, the first of which begins the cluster, and waits until all are
// synced. The members' names are db-0, db-1 and so on.
func StartGalera(t testing.TB, o GaleraOptions) *Galera {
	t.Helper()
	home := Home(t, MariaDB)
	library := filepath.Join(home, "root", "usr", "lib", "libgalera_smm.so")
	if _, err := os.Stat(library); err != nil {
		if flavors[MariaDB].required(os.Getenv(EnvRequire)) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "sst-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &Galera{t: t, home: home, dir: dir}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rsync"), []byte(rsyncAsRoot), 0o755))
	free := freeport.Take(t, 3*(o.Members+1)) // one more for an arbitrator
	for i := range o.Members + 1 {
		g.ports = append(g.ports, [3]int{free[3*i], free[3*i+1], free[3*i+2]})
	}
	g.Members = Start(t, Options{Flavor: MariaDB, Servers: o.Members, Unstarted: true})
	var addresses []string
	for i := range g.Members {
		addresses = append(addresses, g.at(i, 0))
	}
	for i, s := range g.Members {
		s.Name, s.Env = fmt.Sprintf("db-%d", i), []string{"PATH=" + dir + ":" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH")}
		maps.Copy(s.Settings, map[string]string{
			"read_only": "OFF", "innodb_autoinc_lock_mode": "2", "wsrep_on": "ON", "wsrep_provider": library,
			"wsrep_cluster_name": "test", "wsrep_cluster_address": "gcomm://" + strings.Join(addresses, ","),
			"wsrep_node_name": s.Name, "wsrep_node_address": g.at(i, 0), "wsrep_node_incoming_address": s.Address(),
			"wsrep_sst_method": "rsync", "wsrep_sst_receive_address": g.at(i, 2),
			"wsrep_provider_options": providerOptions(g.at(i, 0), g.at(i, 1), o.Provider),
		})
		maps.Copy(s.Settings, o.Settings)
	}
	g.Bootstrap(0)
	for _, grant := range AgentGaleraGrants {
		g.Members[0].Exec("GRANT " + grant + " TO '" + AgentUser + "'@'127.0.0.1'")
	}
	for _, s := range g.Members[1:] {
		s.Start()
	}
	g.AwaitSynced()
	return g
}

// rsyncAsRoot is rsync whose daemon stays root: it would become nobody, who may not write the data.
// It does not send while there is a file named hold.
const rsyncAsRoot = `#!/bin/sh
case " $* " in
*" --daemon "*)
    for word; do
        [ "$last" != --config ] || sed -i "1i uid = $(id -u)\ngid = $(id -g)" "$word"
        last=$word
    done
    ;;
*" --version "*) ;;
*) while [ -e "$(dirname "$0")/hold" ]; do sleep 0.1; done ;;
esac
PATH=/usr/local/bin:/usr/bin:/bin exec rsync "$@"
`

func (g *Galera) at(i, which int) string { return "127.0.0.1:" + strconv.Itoa(g.ports[i][which]) }

func providerOptions(listen, ist string, more map[string]string) string {
	all := maps.Clone(provider)
	maps.Copy(all, map[string]string{"gmcast.listen_addr": "tcp://" + listen, "ist.recv_addr": ist})
	maps.Copy(all, more)
	var parts []string
	for key, value := range all {
		if value != "" {
			parts = append(parts, key+"="+value)
		}
	}
	return strings.Join(parts, ";")
}

// Bootstrap starts a member as the first of a new primary component.
func (g *Galera) Bootstrap(i int) {
	g.t.Helper()
	s := g.Members[i]
	s.Arguments = []string{"--wsrep-new-cluster"}
	s.Start()
	s.Arguments = nil
	s.AwaitUp()
	// It answers before it lets anybody write.
	require.Eventually(g.t, func() bool { return s.Wsrep("wsrep_ready") == "ON" }, time.Minute, 20*time.Millisecond, "%s is not ready", s.Name)
}

// Logs are the errors that the members printed since their last start, and the end of what they
// printed.
func (g *Galera) Logs() string {
	var all strings.Builder
	for _, s := range g.Members {
		fmt.Fprintf(&all, "%s, ended: %t\n", s.Name, s.Ended())
		for line := range strings.Lines(s.process.Output()) {
			if strings.Contains(line, "[ERROR]") {
				all.WriteString(line)
			}
		}
		fmt.Fprintln(&all, s.Log())
	}
	return all.String()
}

// Table creates a table of numbers and waits until each member has it. One that is killed while it
// creates a table drops it again after the state transfer of its next start, and then leaves as
// inconsistent: its ddl_recovery.log outlives the transfer (seen with MariaDB 10.11.19).
func (g *Galera) Table() *sql.DB {
	g.t.Helper()
	app := Table(g.t, g.Members[0])
	for _, s := range g.Members {
		db := s.Open(AppUser, AppPassword, "app")
		require.Eventually(g.t, func() bool {
			var rows int
			return db.QueryRow("SELECT COUNT(*) FROM numbers").Scan(&rows) == nil
		}, time.Minute, 50*time.Millisecond, "%s has no table", s.Name)
	}
	return app
}

// Bootstrapped starts all members again after a total outage, one as the first.
func (g *Galera) Bootstrapped(first int) {
	g.t.Helper()
	state := filepath.Join(g.Members[first].Settings["datadir"], "grastate.dat")
	text, err := os.ReadFile(state)
	require.NoError(g.t, err)
	require.NoError(g.t, os.WriteFile(state, []byte(strings.Replace(string(text), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1)), 0o600))
	for i, s := range g.Members {
		_ = os.Remove(filepath.Join(s.Settings["datadir"], "gvwstate.dat"))
		if i != first {
			defer s.Start()
		}
	}
	g.Bootstrap(first)
}

// AwaitSynced waits until the running members are synced and count as many as there are.
func (g *Galera) AwaitSynced(also ...*process.Process) {
	g.t.Helper()
	var running []*Server
	for _, s := range g.Members {
		if !s.Ended() {
			running = append(running, s)
			s.AwaitUp()
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		all := true
		for _, s := range running {
			all = all && s.Wsrep("wsrep_local_state_comment") == "Synced" && s.Wsrep("wsrep_cluster_size") == strconv.Itoa(len(running)+len(also))
		}
		if all {
			return
		}
		if time.Now().After(deadline) {
			var what []string
			for _, s := range running {
				what = append(what, fmt.Sprint(s.Name, " ", s.Wsrep("wsrep_local_state_comment"), " of ", s.Wsrep("wsrep_cluster_size")))
			}
			for _, p := range also {
				what = append(what, p.Tail())
			}
			require.FailNow(g.t, "members do not get synced", "%q\n%s", what, g.Logs())
		}
	}
}

// Isolate cuts a member off from all others, or connects it again.
func (s *Server) Isolate(off bool) {
	s.t.Helper()
	s.Exec(fmt.Sprintf("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=%d'", map[bool]int{true: 1}[off]))
}

// Wsrep returns a status variable; empty means that it is not known.
func (s *Server) Wsrep(name string) string {
	var variable, value string
	if err := s.root.QueryRow("SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&variable, &value); err != nil {
		return ""
	}
	return value
}

// GaleraState is what a member keeps in grastate.dat.
func (s *Server) GaleraState() string {
	text, _ := os.ReadFile(filepath.Join(s.Settings["datadir"], "grastate.dat"))
	return string(text)
}

// ForgetState has the next start of a stopped member ask for a full state transfer.
func (s *Server) ForgetState() { _ = os.Remove(filepath.Join(s.Settings["datadir"], "grastate.dat")) }

// HoldTransfers keeps donors sending until it is called with false.
func (g *Galera) HoldTransfers(hold bool) {
	g.t.Helper()
	file := filepath.Join(g.dir, "hold")
	if hold {
		require.NoError(g.t, os.WriteFile(file, nil, 0o644))
		return
	}
	require.NoError(g.t, os.Remove(file))
}

// StartArbitrator starts garbd, which votes and has no data.
func (g *Galera) StartArbitrator(name string) *process.Process {
	g.t.Helper()
	at := g.at(len(g.Members), 0)
	cmd := exec.Command(filepath.Join(g.home, "bin", "garbd"), "--address", "gcomm://"+g.at(0, 0)+","+g.at(1, 0), "--group", "test", "--name", name,
		"--options", providerOptions(at, "", map[string]string{"ist.recv_addr": "", "gcache.size": "", "gcache.page_size": ""}))
	cmd.Dir = g.dir // where it keeps its view
	p := process.Start(g.t, filepath.Join(g.dir, name+".log"), cmd)
	g.t.Cleanup(p.Kill)
	return p
}
