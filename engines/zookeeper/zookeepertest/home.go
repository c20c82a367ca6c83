// Package zookeepertest runs real ZooKeeper servers as processes on loopback, for tests.
package zookeepertest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/engines"
)

// EnvHome names the folder of Solr, whose folders lib-VERSION have ZooKeeper's jars, too, and whose
// folder etc says what is logged. See engines/solr/solrtest.
const EnvHome = "ROLLCALL_SOLR_HOME"

// envRequire makes a missing server a failure where it holds "solr".
const envRequire = "ROLLCALL_REQUIRE"

// Lib is a folder with ZooKeeper's jars.
type Lib struct {
	// Version is that of ZooKeeper.
	Version string
	dir     string
}

// Libs returns the folders by ZooKeeper's version, the newest last, or skips the test.
func Libs(t testing.TB) []Lib {
	t.Helper()
	home := os.Getenv(EnvHome)
	jars, _ := filepath.Glob(filepath.Join(home, "lib-*", "zookeeper-[0-9]*.jar"))
	var libs []Lib
	for _, jar := range jars {
		libs = append(libs, Lib{Version: strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jar), "zookeeper-"), ".jar"), dir: filepath.Dir(jar)})
	}
	slices.SortFunc(libs, func(a, b Lib) int {
		x, _ := engines.ParseVersion(a.Version)
		y, _ := engines.ParseVersion(b.Version)
		return cmp.Or(x.Compare(y), cmp.Compare(a.dir, b.dir))
	})
	_, err := exec.LookPath("java")
	switch {
	case home == "":
		missing(t, EnvHome+" is not set: no real ZooKeeper to test against")
	case err != nil:
		missing(t, "no java in PATH: a real ZooKeeper cannot run")
	case len(libs) == 0:
		missing(t, EnvHome+": no lib-VERSION in it has ZooKeeper's jars")
	}
	return libs
}

// Newest returns the newest that has all of these jars, by the beginnings of their names.
func Newest(t testing.TB, with ...string) Lib {
	t.Helper()
	for _, lib := range slices.Backward(Libs(t)) {
		if !slices.ContainsFunc(with, func(jar string) bool {
			found, _ := filepath.Glob(filepath.Join(lib.dir, jar+"-[0-9]*.jar"))
			return len(found) == 0
		}) {
			return lib
		}
	}
	missing(t, "no lib-VERSION has "+strings.Join(with, ", "))
	return Lib{}
}

func missing(t testing.TB, what string) {
	t.Helper()
	names := strings.FieldsFunc(os.Getenv(envRequire), func(r rune) bool { return r == ',' || r == ' ' })
	if slices.Contains(names, "solr") {
		t.Fatal(what + " (" + envRequire + " asks for it)")
	}
	t.Skip(what)
}
