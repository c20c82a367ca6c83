package manifests

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
	"github.com/rollcall-dev/rollcall/engines/enginetest/process"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// pod runs the script of a manifest as a container would, in folders of its own.
type pod struct {
	t        *testing.T
	manifest sqlManifest
	home     string
	name     string
	dir      string
	port     int
	process  *process.Process
}

// start starts the server, and waits until it answers.
func (p *pod) start(first *pod) {
	p.t.Helper()
	require.NoError(p.t, os.MkdirAll(filepath.Join(p.dir, "config"), 0o755))
	require.NoError(p.t, os.MkdirAll(filepath.Join(p.dir, "data"), 0o755))
	here := strings.NewReplacer("/config/", p.dir+"/config/", "/data/", p.dir+"/data/",
		"[mysqld]\n", fmt.Sprintf("[mysqld]\nport = %d\nreport_port = %[1]d\n", p.port), "0.0.0.0", "127.0.0.1",
		p.manifest.name+"-0."+p.manifest.name+"',", fmt.Sprintf("127.0.0.1', %s_PORT=%d,", sourceWord(p.manifest), first.port))
	for name, text := range p.manifest.config {
		require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, "config", name), []byte(here.Replace(text)), 0o644))
	}
	args := p.manifest.set.Spec.Template.Spec.Containers[0].Args
	cmd := exec.Command(args[0], here.Replace(args[1]))
	cmd.Env = append(p.manifest.environment(p.t, p.name), "PATH="+filepath.Join(p.home, "bin")+":"+os.Getenv("PATH"),
		"TMPDIR="+p.dir) // a pod has its own
	p.process = process.Start(p.t, filepath.Join(p.dir, "log"), cmd)
	root := p.open("root", "root-password")
	require.Eventually(p.t, func() bool {
		select {
		case <-p.process.Ended():
			require.FailNow(p.t, p.name+" ended", p.process.Tail())
		default:
		}
		return root.Ping() == nil
	}, 5*time.Minute, 50*time.Millisecond, "%s does not answer", p.name)
}

// executed by a server, which its accounts are no part of: else it would stand in
// the way of what others execute.
var executed = map[mysqltest.Flavor]string{
	mysqltest.MySQL:   "SELECT @@GLOBAL.gtid_executed",
	mysqltest.MariaDB: "SELECT CONCAT(@@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos)",
}

func sourceWord(m sqlManifest) string {
	if strings.Contains(m.config["start.sh"], "SOURCE_HOST") {
		return "SOURCE"
	}
	return "MASTER"
}

// open returns connections: root's through the socket, others' through TCP.
func (p *pod) open(user, password string) *sql.DB {
	c := driver.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)), user, password
	if user == "root" {
		c.Net, c.Addr = "unix", filepath.Join(p.dir, "data", "socket")
	}
	c.Logger = &driver.NopLogger{}
	connector, err := driver.NewConnector(c)
	require.NoError(p.t, err)
	db := sql.OpenDB(connector)
	p.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (p *pod) exec(user, password, statement string) {
	p.t.Helper()
	_, err := p.open(user, password).Exec(statement)
	require.NoError(p.t, err, "%s: %s", p.name, statement)
}

// await waits until root is answered this.
func (p *pod) await(query, want string) {
	p.t.Helper()
	got := ""
	db := p.open("root", "root-password")
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err := db.QueryRow(query).Scan(&got); err != nil {
			got = err.Error()
		}
		if got == want {
			return
		}
	}
	require.FailNow(p.t, "it does not come to that", "%s: %s: %s\n%s", p.name, query, got, p.process.Tail())
}

// TestRealSQLPods checks that three servers start read-only with nothing but their scripts; what an
// agent then makes the primary is what the others follow, also after all of them were killed; and a
// new one gets all data.
func TestRealSQLPods(t *testing.T) {
	for _, flavor := range mysqltest.Flavors {
		t.Run(string(flavor), func(t *testing.T) {
			home := mysqltest.Home(t, flavor)
			manifest := readSQL(t, flavor)
			dir, err := os.MkdirTemp("", "pods-") // the path of a socket must be short
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			var pods []*pod
			for i, port := range freeport.Take(t, 4) {
				pods = append(pods, &pod{
					t: t, manifest: manifest, home: home, name: manifest.name + "-" + strconv.Itoa(i), dir: filepath.Join(dir, strconv.Itoa(i)),
					port: port,
				})
			}
			t.Cleanup(func() {
				for _, p := range pods {
					p.process.Kill()
				}
			})
			first := pods[0]
			// The first was broken off when it made its data.
			require.NoError(t, os.MkdirAll(filepath.Join(first.dir, "data", "new", "mysql"), 0o755))
			for _, p := range []*pod{pods[1], first, pods[2]} {
				p.start(first)
				p.await("SELECT @@read_only", "1")
				p.await(executed[flavor], "")
				_, err := p.open("app", "app-password").Exec("CREATE TABLE app.numbers (n INT PRIMARY KEY)")
				require.ErrorContains(t, err, "read-only")
			}
			first.exec("rollcall", "agent-password", "SET GLOBAL read_only = OFF")
			first.exec("app", "app-password", "CREATE TABLE app.numbers (n INT PRIMARY KEY)")
			first.exec("app", "app-password", "INSERT INTO app.numbers VALUES (1), (2)")
			const sum = "SELECT SUM(n) FROM app.numbers"
			pods[1].await(sum, "3")
			pods[2].await(sum, "3")

			for _, p := range pods[:3] {
				p.process.Kill()
			}
			for _, p := range pods[:3] {
				p.start(first)
				p.await("SELECT @@read_only", "1")
			}
			first.exec("rollcall", "agent-password", "SET GLOBAL read_only = OFF")
			first.exec("app", "app-password", "INSERT INTO app.numbers VALUES (4)")
			pods[3].start(first)
			for _, p := range pods[1:] {
				p.await(sum, "7")
				p.await("SELECT @@read_only", "1")
			}
			leftovers, err := filepath.Glob(filepath.Join(dir, "*", "data", "*.sql"))
			require.NoError(t, err)
			require.Empty(t, leftovers, "passwords")
		})
	}
}
