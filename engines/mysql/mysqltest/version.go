package mysqltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

var versions sync.Map // of a program, once it was asked

// versionOf a server's program, which says "Ver 11.4.5-MariaDB for ...".
func versionOf(program string) (string, error) {
	if v, asked := versions.Load(program); asked {
		return v.(string), nil
	}
	out, err := exec.Command(program, "--no-defaults", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, err)
	}
	found := regexp.MustCompile(`Ver (\d+\.\d+\.\d+)`).FindStringSubmatch(string(out))
	if found == nil {
		return "", fmt.Errorf("%s does not tell its version: %s", program, out)
	}
	versions.Store(program, found[1])
	return found[1], nil
}

// Versions are those that are there, in the order of the environment.
func Versions(t testing.TB, flavor Flavor) []string {
	t.Helper()
	f := flavors[flavor]
	var out []string
	for _, folder := range f.folders() {
		v, err := versionOf(filepath.Join(folder, "bin", f.programs[0]))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// EachVersion runs the test for every version of both flavors that is there; where there is none
// of a flavor, that is said.
func EachVersion(t *testing.T, test func(t *testing.T, flavor Flavor, version string)) {
	for _, flavor := range Flavors {
		found := Versions(t, flavor)
		if len(found) == 0 {
			t.Run(string(flavor), func(t *testing.T) { Home(t, flavor) })
		}
		for _, v := range found {
			t.Run(string(flavor)+" "+v, func(t *testing.T) { test(t, flavor, v) })
		}
	}
}

// old are servers that know the words master and slave only.
func old(flavor Flavor, version string) bool {
	v, err := engines.ParseVersion(version)
	return flavor == MySQL && err == nil && v.Compare(engines.Version{Major: 8, Patch: 23}) < 0
}

var oldWords = strings.NewReplacer(
	"CHANGE REPLICATION SOURCE TO", "CHANGE MASTER TO", "SHOW REPLICAS", "SHOW SLAVE HOSTS", "SHOW BINARY LOG STATUS", "SHOW MASTER STATUS",
	"SOURCE_", "MASTER_", "REPLICA", "SLAVE", "log_replica_updates", "log_slave_updates",
)

// Words are a statement of replication in words that the server knows: MySQL before 8.0.23 knows
// only those that were given up since.
func (s *Server) Words(statement string) string {
	if !old(s.Flavor, s.Version) || strings.Contains(statement, "REPLICATION SLAVE") {
		return statement
	}
	return oldWords.Replace(statement)
}

// ofVersion is the flavor in the words of one of its versions.
func (f flavor) ofVersion(version string) flavor {
	if !old(f.name, version) {
		return f
	}
	f.settings = with(map[string]string{
		"super_read_only": "ON", "gtid_mode": "ON", "enforce_gtid_consistency": "ON", "log_slave_updates": "ON",
		"loose_mysqlx": "OFF", "secure_file_priv": "", "innodb_log_file_size": "8M",
		"performance_schema_max_thread_instances": "100",
	})
	f.initialize = func(data, tmp, accounts string) []string {
		return []string{
			"mysqld", "--no-defaults", "--datadir=" + data, "--tmpdir=" + tmp, "--initialize-insecure", "--init-file=" + accounts,
			"--secure-file-priv=", "--innodb-log-file-size=8M",
		}
	}
	f.follow = oldWords.Replace(f.follow)
	f.semiSync = nil // its plug-ins are not there
	return f
}

// Become ends the server and starts another version with its data, without waiting. The version may
// be an older one: what the server makes of that is its own business.
func (s *Server) Become(version string) {
	s.t.Helper()
	if !s.Ended() {
		s.Stop()
	}
	s.home = homeOf(s.t, s.Flavor, version)
	have, err := versionOf(filepath.Join(s.home, "bin", s.f.programs[0]))
	require.NoError(s.t, err)
	before := s.f.settings
	s.Version, s.f = have, flavors[s.Flavor].ofVersion(have)
	for name := range before { // settings that one version knows and another does not
		if _, known := s.f.settings[name]; !known {
			delete(s.Settings, name)
		}
	}
	for name, value := range s.f.settings {
		if _, known := before[name]; !known {
			s.Settings[name] = value
		}
	}
	s.Start()
}

// Upgrade mends the system tables after another version was started, as the entry point of an image
// does, and returns what that says. It reports false where the version comes without mariadb-upgrade.
func (s *Server) Upgrade() (said string, there bool) {
	s.t.Helper()
	program := filepath.Join(s.home, "bin", "mariadb-upgrade")
	if _, err := os.Stat(program); err != nil {
		return "", false
	}
	args := []string{"--no-defaults", "--user=root", "--socket=" + s.socket()}
	if s.Settings["ssl"] == "OFF" { // clients of 11.4 and later demand TLS
		args = append(args, "--skip-ssl")
	}
	out, err := exec.Command(program, args...).CombinedOutput()
	require.NoError(s.t, err, "%s", out)
	return string(out), true
}

// Said is all that the server has printed since its last start.
func (s *Server) Said() string { return s.process.Output() }
