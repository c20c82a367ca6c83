// Package mysqltest runs real servers of MySQL and MariaDB as processes on
// loopback, for tests.
package mysqltest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Flavor is the flavor of a server.
type Flavor string

// The flavors.
const (
	MySQL   Flavor = "MySQL"
	MariaDB Flavor = "MariaDB"
)

// Flavors are both.
var Flavors = []Flavor{MySQL, MariaDB}

// EnvMySQLHome and EnvMariaDBHome name the folder with that server in it:
//
//	bin/  mysqld, or mariadbd and mariadb-install-db
//
// `rollcall-images mysql-home` makes it of what the image is made of. Further
// folders may follow, separated as in PATH, each with another version
// (`rollcall-images mysql-home --all`). Empty data folders are kept in them, below
// template-*.
const (
	EnvMySQLHome   = "ROLLCALL_MYSQL_HOME"
	EnvMariaDBHome = "ROLLCALL_MARIADB_HOME"
)

// EnvRequire makes a missing server a failure where it holds "mysql" or
// "mariadb" (names separated by commas).
const EnvRequire = "ROLLCALL_REQUIRE"

// Home finds the first folder of a flavor, or skips the test.
func Home(t testing.TB, flavor Flavor) string {
	t.Helper()
	return homeOf(t, flavor, "")
}

// homeOf finds the folder of a version, such as 11.4; empty means the first folder.
func homeOf(t testing.TB, flavor Flavor, version string) string {
	t.Helper()
	f := flavors[flavor]
	home, missing := "", f.env+" is not set: no real "+string(f.name)+" to test against"
	for _, folder := range f.folders() {
		if home, missing = f.find(folder); missing != "" {
			break
		}
		have, err := versionOf(filepath.Join(home, "bin", f.programs[0]))
		if err != nil {
			missing = err.Error()
			break
		}
		if version == "" || have == version || strings.HasPrefix(have, version+".") {
			return home
		}
		missing = fmt.Sprintf("%s has no %s %s", f.env, f.name, version)
	}
	if f.required(os.Getenv(EnvRequire)) {
		t.Fatal(missing + " (" + EnvRequire + " asks for it)")
	}
	t.Skip(missing)
	return ""
}

// folders are those that the environment names.
func (f flavor) folders() []string { return filepath.SplitList(os.Getenv(f.env)) }

// find says what is missing to run a server.
func (f flavor) find(home string) (string, string) {
	if home == "" {
		return "", f.env + " is not set: no real " + string(f.name) + " to test against"
	}
	home, err := filepath.Abs(home)
	if err != nil {
		return "", f.env + ": " + err.Error()
	}
	for _, program := range f.programs {
		if _, err := os.Stat(filepath.Join(home, "bin", program)); err != nil {
			return "", f.env + ": " + err.Error()
		}
	}
	return home, ""
}

func (f flavor) required(names string) bool {
	return slices.Contains(strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }), strings.ToLower(string(f.name)))
}
